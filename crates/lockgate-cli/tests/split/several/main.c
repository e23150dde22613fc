/* The program: an ordinary one, whose domains are two functions calls away. */
#include "host.h"
#include "reader.h"
#include "util.h"
#include <stdio.h>

static int said;

static int twice(int number)
{
    return 2 * number;
}

LG_ENTRY int say(const char *what, int number)
{
    said++;
    printf("%s is number %d of %d\n", what, number, length_of(what));
    return number;
}

int main(int argc, char **argv)
{
    static const long numbers[] = {3, 9, 4};
    long most = 0;
    for (int i = 1; i < argc; i++) {
        struct totals totals = {0, 0};
        int status = read_numbers(argv[i], &totals);
        printf("%d: %d numbers, sum %ld, %d%c\n", status, totals.numbers, totals.sum, twice(said), marks[0]);
    }
    int found = largest(numbers, 3, &most), missed = largest(numbers, 0, &most);
    printf("%d %d %ld, %d calls\n", found, missed, most, calls());
    return 0;
}
