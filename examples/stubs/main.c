/* Prints the settings that it reads. */
#include "ini.h"
#include <stdio.h>

static int print(void *data, const char *name, const char *value)
{
    ++*(int *)data;
    printf("%s is %s\n", name, value);
    return 0;
}

int main(void)
{
    static char text[65536];
    text[fread(text, 1, sizeof text - 1, stdin)] = 0;
    struct ini *ini = ini_parse(text);
    if (!ini) {
        puts("these settings cannot be read");
        return 1;
    }
    int count = 0;
    ini_each(ini, print, &count);
    const char *width = ini_get(ini, "width");
    printf("%d settings, width %s\n", count, width ? width : "unknown");
    ini_free(ini);
    return 0;
}
