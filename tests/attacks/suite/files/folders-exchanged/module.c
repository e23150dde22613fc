#include "granted.h"

long attack(void)
{
    mkdir("/data/a", 0700);
    mkdir("/data/a/b", 0700);
    mkdir("/data/a/b/c", 0700);
    for (int i = 0; i < 20000; i++)
        if (leaks("/data/a/b/c/../../../../outside/secret.txt") || leaks("/data/c/../../outside/secret.txt") || leaks("/data/a/b/c/../../../out"))
            return 1;
    return 0;
}
long helper(void)
{
    rename("/data/a/b/c", "/data/c");
    rename("/data/c", "/data/a/b/c");
    return 0;
}
