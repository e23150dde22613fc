/* strlen in blocks. */
#include "bytes.h"
#include <string.h>

size_t strlen(const char *string) {
    const char *at = grid(string);
    unsigned ends = from(string, same(load(at), repeated(0)));
    while (!ends) ends = same(load(at += BLOCK), repeated(0));
    return (size_t)(at - string) + (size_t)__builtin_ctz(ends);
}
