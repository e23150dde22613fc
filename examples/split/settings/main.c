/* A program that reads settings. As plain C, one process with one memory:
 *
 *     cc -I ../../../crates/lockgate-headers/include main.c settings.c -o plain
 *
 * and with settings.c in a domain of its own:
 *
 *     lockgate cc --split main.c settings.c -o split
 */
#include "complain.h"
#include "settings.h"
#include <stdio.h>

/* Domains may call it: only its own source can say so. */
LG_ENTRY void complain(const char *name, int line)
{
    printf("line %d: there is no setting %s\n", line, name);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct settings settings = {80, 1};
        int count = settings_read(argv[i], &settings);
        if (count < 0)
            printf("these settings are not to be trusted\n");
        else
            printf("%d settings: port %d, %d workers\n", count, settings.port, settings.workers);
    }
    return 0;
}
