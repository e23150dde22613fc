/* A whole program. */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    const char *crash = getenv("CRASH");
    if (crash)
        *(volatile int *)0 = 1;
    printf("%d %s\n", argc, argc > 1 ? argv[1] : "");
    return argc;
}
