#ifndef UTIL_H
#define UTIL_H

#include <lockgate/annotations.h>

static inline int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

int length_of(const char *text);
extern const char marks[4];

#endif
