#include "granted.h"

long attack(void)
{
    static const char *const paths[] = {"/data/out", "/data/absolute", "/data/folder/secret.txt", "/data/folder/../outside/secret.txt", "/data/loop", "/data/proc/self/mem", "/data/root/etc/passwd"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (leaks(paths[i]) || !chdir(paths[i]))
            return i + 1;
    /* Another name of the link itself would be harmless, and is no way through it. */
    link("/data/out", "/data/mine");
    return 50 * !truncate("/data/out", 0) + 51 * leaks("/data/mine") + 52 * !rename("/data/secret.txt", "/data/folder/mine");
}
