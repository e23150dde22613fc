/* Static functions that pointers reach: from a table, and from code. */
#include <stdio.h>
#include <stdlib.h>

static int add(int x) { return x + 1; }
static int twice(int x) { return x * 2; }
static int print(int x) {
    char text[64];
    snprintf(text, sizeof text, "%d", x);
    return atoi(text) - 3;
}
static int (*const table[])(int) = {add, twice, print};
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    int sum = 1, numbers[] = {4, 2, 9, 1};
    for (int i = 0; i < 30; i++) sum = table[(sum + i) % 3](sum);
    qsort(numbers, 4, sizeof *numbers, compare);
    printf("%d %d\n", sum, numbers[3]);
}
