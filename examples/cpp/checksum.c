/* A library for a program in C++: a checksum, and a table that is looked up without a check. */
#include <stddef.h>
#include <stdint.h>

static const char *const names[] = {"zero", "one", "two", "three"};

uint32_t checksum(const unsigned char *bytes, size_t count) {
    uint32_t a = 1, b = 0; /* Adler-32, RFC 1950 */
    for (size_t i = 0; i < count; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

const char *name_of(uint32_t number) { return names[number]; }
