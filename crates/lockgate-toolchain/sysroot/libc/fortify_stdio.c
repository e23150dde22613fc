/* Checked functions of <stdio.h>, <wchar.h> and <syslog.h> (fortify.h). `flag` asks glibc to refuse %n in formats that can be written;
   it is not looked at. */
#include "fortify.h"
#include <limits.h>
#include <stdio.h>
#include <syslog.h>
#include <wchar.h>

/* A function with variable arguments, by the one that takes a list. */
#define BY_LIST(result, name, parameters, last, call) \
    result name parameters { \
        va_list list; \
        va_start(list, last); \
        result value = call; \
        va_end(list); \
        return value; \
    }

int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list list) {
    (void)flag;
    lg_fits(size, room);
    return vsnprintf(to, size, format, list);
}

int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list) {
    (void)flag;
    /* More than a length can say is as good as all. */
    if (room > INT_MAX) return vsprintf(to, format, list);
    int length = vsnprintf(to, room, format, list);
    if (length >= 0) lg_fits((size_t)length + 1, room);
    return length;
}

int __vprintf_chk(int flag, const char *format, va_list list) {
    (void)flag;
    return vprintf(format, list);
}

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list list) {
    (void)flag;
    return vfprintf(file, format, list);
}

int __vdprintf_chk(int file, int flag, const char *format, va_list list) {
    (void)flag;
    return vdprintf(file, format, list);
}

int __vasprintf_chk(char **to, int flag, const char *format, va_list list) {
    (void)flag;
    return vasprintf(to, format, list);
}

BY_LIST(int, __snprintf_chk, (char *to, size_t size, int flag, size_t room, const char *format, ...), format,
        __vsnprintf_chk(to, size, flag, room, format, list))
BY_LIST(int, __sprintf_chk, (char *to, int flag, size_t room, const char *format, ...), format,
        __vsprintf_chk(to, flag, room, format, list))
BY_LIST(int, __printf_chk, (int flag, const char *format, ...), format, __vprintf_chk(flag, format, list))
BY_LIST(int, __fprintf_chk, (FILE *file, int flag, const char *format, ...), format, __vfprintf_chk(file, flag, format, list))
BY_LIST(int, __dprintf_chk, (int file, int flag, const char *format, ...), format, __vdprintf_chk(file, flag, format, list))
BY_LIST(int, __asprintf_chk, (char **to, int flag, const char *format, ...), format, __vasprintf_chk(to, flag, format, list))

char *__fgets_chk(char *to, size_t room, int size, FILE *file) {
    if (size > 0) lg_fits((size_t)size, room);
    return fgets(to, size, file);
}

char *__fgets_unlocked_chk(char *to, size_t room, int size, FILE *file) { return __fgets_chk(to, room, size, file); }

size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file) {
    if (size) lg_elements_fit(count, size, room);
    return fread(to, size, count, file);
}

size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *file) {
    return __fread_chk(to, room, size, count, file);
}

int __vswprintf_chk(wchar_t *to, size_t count, int flag, size_t room, const wchar_t *format, va_list list) {
    (void)flag;
    lg_fits(count, room);
    return vswprintf(to, count, format, list);
}

int __vfwprintf_chk(FILE *file, int flag, const wchar_t *format, va_list list) {
    (void)flag;
    return vfwprintf(file, format, list);
}

BY_LIST(int, __swprintf_chk, (wchar_t *to, size_t count, int flag, size_t room, const wchar_t *format, ...), format,
        __vswprintf_chk(to, count, flag, room, format, list))
BY_LIST(int, __fwprintf_chk, (FILE *file, int flag, const wchar_t *format, ...), format,
        __vfwprintf_chk(file, flag, format, list))
BY_LIST(int, __wprintf_chk, (int flag, const wchar_t *format, ...), format, __vfwprintf_chk(stdout, flag, format, list))

wchar_t *__fgetws_chk(wchar_t *to, size_t room, int count, FILE *file) {
    if (count > 0) lg_fits((size_t)count, room);
    return fgetws(to, count, file);
}

void __vsyslog_chk(int priority, int flag, const char *format, va_list list) {
    (void)flag;
    vsyslog(priority, format, list);
}

void __syslog_chk(int priority, int flag, const char *format, ...) {
    va_list list;
    va_start(list, format);
    __vsyslog_chk(priority, flag, format, list);
    va_end(list);
}
