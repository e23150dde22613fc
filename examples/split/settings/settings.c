#include "settings.h"
#include "complain.h"
#include <stdlib.h>
#include <string.h>

static void set(struct settings *into, const char *name, int value, int line)
{
    if (strcmp(name, "port") == 0)
        into->port = value;
    else if (strcmp(name, "workers") == 0)
        into->workers = value;
    else
        complain(name, line);
}

int settings_read(const char *text, struct settings *into)
{
    int count = 0;
    for (int line = 1; *text; line++) {
        char name[16];
        size_t length = strcspn(text, " =\n");
        memcpy(name, text, length); /* the bug: a name may be longer */
        name[length] = 0;
        text += length + strspn(text + length, " =");
        if (length && ++count)
            set(into, name, atoi(text), line);
        text += strcspn(text, "\n");
        text += *text != 0;
    }
    return count;
}
