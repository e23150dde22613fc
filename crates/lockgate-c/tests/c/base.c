/* A base for modules that join its domain. */
#include <stdlib.h>

static int *kept;

void keep(int *block) { kept = block; }

int drop(int unused) {
    (void)unused;
    int first = *kept;
    free(kept);
    return first;
}
