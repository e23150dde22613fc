/* A parser of "name = number" lines, with a bug that somebody else has not fixed yet. */
#include <stdlib.h>
#include <string.h>

/* Calls `found` with each name, which is not terminated, its length and its number; how many there were. A call of `found` that does not
 * return 0 ends it. */
int read_settings(const char *text, int (*found)(const char *name, unsigned long length, long number))
{
    int count = 0;
    while (*text) {
        const char *equals = strchr(text, '=');
        const char *line = strchr(text, '\n');
        unsigned long length = strcspn(text, " =");
        long number = atol(equals + 1); /* null without a `=` */
        if (found(text, length, number) != 0)
            break;
        count++;
        text = line ? line + 1 : "";
    }
    return count;
}
