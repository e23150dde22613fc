/* A reader of numbers in a domain, what it asks of the program, and a second domain that it asks in turn. */
#ifndef READER_H
#define READER_H

#include <lockgate/annotations.h>
#include <stddef.h>

struct totals {
    int numbers;
    long sum;
};

enum { LIMIT = 8 };
#define READ_FAILED (-7)

/* The home of what this header declares, but for what has another. */
LG_DOMAIN("reader", time=2000, restart);

int read_numbers(const char *text LG_IN LG_STRING, struct totals *totals LG_OUT) LG_ENTRY LG_ERROR(READ_FAILED);
int largest(const long *numbers LG_IN LG_SIZE(count), size_t count, long *into LG_INOUT) LG_ENTRY LG_ERROR(READ_FAILED);
int calls(void) LG_ENTRY LG_ERROR(-1);
long power(long base);

LG_DOMAIN("sums") long add(long a, long b) LG_ENTRY LG_ERROR(-1);

#endif
