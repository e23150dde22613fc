#include "reader.h"
#include "host.h"
#include "util.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int counted;
static long (*const operations[])(long) = {power};

long power(long base)
{
    return base * base;
}

int calls(void)
{
    return counted;
}

int read_numbers(const char *text, struct totals *totals)
{
    char number[LIMIT];
    int digits = 0, length = length_of(text);
    memset(totals, 0, sizeof *totals);
    counted++;
    for (int i = 0; i <= length; i++) {
        if (is_digit(text[i])) {
            number[digits++] = text[i]; /* the bug: a number may be longer */
            continue;
        }
        if (digits) {
            number[digits] = 0;
            totals->numbers++;
            totals->sum = add(totals->sum, strtol(number, NULL, 10));
            if (say(number, totals->numbers) != totals->numbers)
                return 1;
        }
        digits = 0;
        if (text[i] == marks[2])
            totals->sum = operations[0](totals->sum);
    }
    return 0;
}

int largest(const long *numbers, size_t count, long *into)
{
    if (!count)
        return errno = EINVAL, 1;
    *into = numbers[0];
    for (size_t i = 1; i < count; i++)
        if (numbers[i] > *into)
            *into = numbers[i];
    return 0;
}
