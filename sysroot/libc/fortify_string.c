/* Checked functions of <string.h> and <wchar.h> (fortify.h). */
#include "fortify.h"
#include <string.h>
#include <strings.h>
#include <wchar.h>

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room) {
    lg_fits(size, room);
    return memcpy(to, from, size);
}

void *__memmove_chk(void *to, const void *from, size_t size, size_t room) {
    lg_fits(size, room);
    return memmove(to, from, size);
}

void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room) {
    lg_fits(size, room);
    return mempcpy(to, from, size);
}

void *__memset_chk(void *to, int byte, size_t size, size_t room) {
    lg_fits(size, room);
    return memset(to, byte, size);
}

void __explicit_bzero_chk(void *to, size_t size, size_t room) {
    lg_fits(size, room);
    explicit_bzero(to, size);
}

char *__strcpy_chk(char *to, const char *from, size_t room) {
    size_t size = strlen(from) + 1;
    lg_fits(size, room);
    return memcpy(to, from, size);
}

char *__stpcpy_chk(char *to, const char *from, size_t room) {
    size_t size = strlen(from) + 1;
    lg_fits(size, room);
    return (char *)memcpy(to, from, size) + size - 1;
}

char *__strncpy_chk(char *to, const char *from, size_t size, size_t room) {
    lg_fits(size, room);
    return strncpy(to, from, size);
}

char *__stpncpy_chk(char *to, const char *from, size_t size, size_t room) {
    lg_fits(size, room);
    return stpncpy(to, from, size);
}

char *__strcat_chk(char *to, const char *from, size_t room) {
    size_t before = strnlen(to, room), size = strlen(from) + 1;
    lg_fits(size, room - before);
    memcpy(to + before, from, size);
    return to;
}

char *__strncat_chk(char *to, const char *from, size_t most, size_t room) {
    size_t before = strnlen(to, room), size = strnlen(from, most);
    lg_fits(1, room - before);
    lg_fits(size, room - before - 1);
    memcpy(to + before, from, size);
    to[before + size] = 0;
    return to;
}

size_t __strlcpy_chk(char *to, const char *from, size_t size, size_t room) {
    lg_fits(size, room);
    return strlcpy(to, from, size);
}

size_t __strlcat_chk(char *to, const char *from, size_t size, size_t room) {
    lg_fits(size, room);
    return strlcat(to, from, size);
}

/* Room of wide characters is counted in characters. */
wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    lg_fits(count, room);
    return wmemcpy(to, from, count);
}

wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    lg_fits(count, room);
    return wmemmove(to, from, count);
}

wchar_t *__wmempcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    lg_fits(count, room);
    return wmemcpy(to, from, count) + count;
}

wchar_t *__wmemset_chk(wchar_t *to, wchar_t c, size_t count, size_t room) {
    lg_fits(count, room);
    return wmemset(to, c, count);
}

wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room) {
    lg_fits(wcslen(from) + 1, room);
    return wcscpy(to, from);
}

wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    lg_fits(count, room);
    return wcsncpy(to, from, count);
}

wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room) {
    lg_fits(wcslen(from) + 1, room - wcsnlen(to, room));
    return wcscat(to, from);
}

wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t most, size_t room) {
    size_t before = wcsnlen(to, room);
    lg_fits(1, room - before);
    lg_fits(wcsnlen(from, most), room - before - 1);
    return wcsncat(to, from, most);
}
