/* Compiled with glibc's headers and _FORTIFY_SOURCE, as distributions' archives are. An argument asks for an overflow. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static int list(char *to, size_t size, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(to, size, format, rest);
    va_end(rest);
    return length;
}

int main(int argc, char **argv)
{
    char small[8] = "", *text = NULL;
    wchar_t wide[8];
    const char *given = argc > 2 ? argv[2] : "seven";
    size_t length = strlen(given);
    switch (argc > 1 ? argv[1][0] : 0) {
    case 0:
        strcpy(small, given), printf("%s ", small);
        strcat(small, "+"), printf("%s ", small);
        memcpy(small, given, length + 1), fprintf(stdout, "%s ", small);
        memset(small, 'x', length), fputs(small, stdout);
        printf(" %d", snprintf(small, sizeof small, "%s-%s", given, given)), printf(" %s", small);
        printf(" %d", sprintf(small, "%zu", length)), printf(" %s", small);
        printf(" %d", list(small, length, "%d", 12345)), printf(" %s", small);
        printf(" %d", asprintf(&text, "<%s>", given)), puts(text);
        printf("%zu %ls\n", mbstowcs(wide, given, length + 1), wide);
        return 0;
    case 's': strcpy(small, given); break;
    case 'm': memmove(small, given, length); break;
    case 'p': sprintf(small, "%s", given); break;
    case 'n': snprintf(small, length, "%s", given); break;
    case 'c': strcpy(small, "12345"), strcat(small, given); break;
    case 'r': return (int)read(0, small, length);
    case 'w': mbstowcs(wide, given, length); break;
    }
    puts(small);
    return 0;
}
