/* Checked functions of <string.h> and <wchar.h> (fortify.h). */
#include "fortify.h"
#include <string.h>
#include <strings.h>
#include <wchar.h>

LG_CHECKED(void *, memcpy, (void *to, const void *from, size_t size, size_t room), size, memcpy(to, from, size))
LG_CHECKED(void *, memmove, (void *to, const void *from, size_t size, size_t room), size, memmove(to, from, size))
LG_CHECKED(void *, mempcpy, (void *to, const void *from, size_t size, size_t room), size, mempcpy(to, from, size))
LG_CHECKED(void *, memset, (void *to, int byte, size_t size, size_t room), size, memset(to, byte, size))

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

LG_CHECKED(char *, strncpy, (char *to, const char *from, size_t size, size_t room), size, strncpy(to, from, size))
LG_CHECKED(char *, stpncpy, (char *to, const char *from, size_t size, size_t room), size, stpncpy(to, from, size))

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

LG_CHECKED(size_t, strlcpy, (char *to, const char *from, size_t size, size_t room), size, strlcpy(to, from, size))
LG_CHECKED(size_t, strlcat, (char *to, const char *from, size_t size, size_t room), size, strlcat(to, from, size))

/* Room of wide characters is counted in characters. */
LG_CHECKED(wchar_t *, wmemcpy, (wchar_t *to, const wchar_t *from, size_t count, size_t room), count, wmemcpy(to, from, count))
LG_CHECKED(wchar_t *, wmemmove, (wchar_t *to, const wchar_t *from, size_t count, size_t room), count, wmemmove(to, from, count))
LG_CHECKED(wchar_t *, wmempcpy, (wchar_t *to, const wchar_t *from, size_t count, size_t room), count, wmemcpy(to, from, count) + count)
LG_CHECKED(wchar_t *, wmemset, (wchar_t *to, wchar_t c, size_t count, size_t room), count, wmemset(to, c, count))
LG_CHECKED(wchar_t *, wcscpy, (wchar_t *to, const wchar_t *from, size_t room), wcslen(from) + 1, wcscpy(to, from))
LG_CHECKED(wchar_t *, wcsncpy, (wchar_t *to, const wchar_t *from, size_t count, size_t room), count, wcsncpy(to, from, count))

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
