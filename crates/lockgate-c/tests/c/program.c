/* A whole program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    const char *crash = getenv("CRASH");
    if (crash)
        *(volatile int *)0 = 1;
    const char *which = getenv("WHICH");
    if (which && strcmp(which, "last") != 0)
        return 99;
    printf("%d %s\n", argc, argc > 1 ? argv[1] : "");
    return argc;
}
