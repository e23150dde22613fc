/* strcspn in blocks for few bytes to stop at, with a set of bits for more. */
#include "bytes.h"
#include <string.h>

static size_t span_of_set(const char *string, const char *stops) {
    uint64_t set[4] = {1};
    for (; *stops; stops++) set[(unsigned char)*stops / 64] |= 1ull << ((unsigned char)*stops % 64);
    const char *at = string;
    while (!(set[(unsigned char)*at / 64] >> ((unsigned char)*at % 64) & 1)) at++;
    return (size_t)(at - string);
}

size_t strcspn(const char *string, const char *stops) {
    if (!stops[0]) return strlen(string);
    int last = stops[1] ? stops[1] : stops[0];
    if (stops[1] && stops[2]) {
        if (stops[3]) return span_of_set(string, stops);
        last = stops[2];
    }
    __m128i one = repeated(stops[0]), two = repeated(stops[1]), three = repeated(last), end = repeated(0);
    const char *at = grid(string);
    for (unsigned keep = from(string, 0xffff);; keep = 0xffff, at += BLOCK) {
        __m128i block = load(at);
        unsigned found = (same(block, one) | same(block, two) | same(block, three) | same(block, end)) & keep;
        if (found) return (size_t)(at - string) + (size_t)__builtin_ctz(found);
    }
}
