/* A module that joins it. */
#include <stdlib.h>

void keep(int *block);

int make(int number) {
    int *block = malloc(sizeof *block);
    *block = number;
    keep(block);
    return number;
}
