/* What libc++ calls of glibc's, and musl has not, or otherwise. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* All locales write numbers as the C locale does. */
long long strtoll_l(const char *text, char **end, int base, locale_t locale) {
    (void)locale;
    return strtoll(text, end, base);
}

unsigned long long strtoull_l(const char *text, char **end, int base, locale_t locale) {
    (void)locale;
    return strtoull(text, end, base);
}

/* GNU's strerror_r: the text itself; POSIX's is a status. */
char *_lg_strerror_r(int error, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return strerror(error);
}
