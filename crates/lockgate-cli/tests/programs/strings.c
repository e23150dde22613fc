/* The memory and string functions that the sysroot has of its own, against loops over bytes: every size around every bound, every
   distance from a block's start, regions that overlap in both directions, and memory that ends where a page does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 8192, MARGIN = 128, PAGE = 4096 };

/* Through pointers, so that no compiler puts code of its own in their places. */
static void *(*volatile copy)(void *restrict, const void *restrict, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static void *(*volatile find)(const void *, int, size_t) = memchr;
static size_t (*volatile length)(const char *) = strlen;
static size_t (*volatile span)(const char *, const char *) = strcspn;

static uint32_t state = 1;

static uint32_t below(uint32_t bound) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

static int sign(int number) {
    return (number > 0) - (number < 0);
}

static void expect(int right, const char *what, size_t size) {
    if (right) return;
    printf("%s is wrong at %zu\n", what, size);
    exit(1);
}

static unsigned char from[ROOM + MARGIN], to[ROOM + MARGIN], wanted[ROOM + MARGIN];

static void copies(size_t size) {
    size_t source = below(40), place = below(40);
    for (size_t i = 0; i < sizeof to; i++) from[i] = (unsigned char)below(256), to[i] = wanted[i] = (unsigned char)below(256);
    for (size_t i = 0; i < size; i++) wanted[place + i] = from[source + i];
    expect(copy(to + place, from + source, size) == to + place, "what memcpy returns", size);
    for (size_t i = 0; i < sizeof to; i++) expect(to[i] == wanted[i], "memcpy", size);

    size_t distance = below((uint32_t)size + 80) % (ROOM - size);
    size_t low = below(MARGIN), high = low + distance;
    size_t first = below(2) ? low : high, second = low + high - first;
    for (size_t i = 0; i < size; i++) wanted[second + i] = to[first + i];
    expect(move(to + second, to + first, size) == to + second, "what memmove returns", size);
    for (size_t i = 0; i < sizeof to; i++) expect(to[i] == wanted[i], "memmove", size);
}

static void comparisons(size_t size, size_t different) {
    unsigned char *a = from + below(20), *b = to + below(20);
    for (size_t i = 0; i < size; i++) a[i] = b[i] = (unsigned char)below(256);
    a[size] = 1, b[size] = 2; /* behind the end */
    int order = 0;
    if (different < size) {
        b[different] = (unsigned char)(a[different] + 1 + below(255));
        for (size_t i = different + 1; i < size; i++) b[i] = (unsigned char)below(256);
        order = sign(a[different] - b[different]);
    }
    expect(sign(compare(a, b, size)) == order, "memcmp", size);
}

static void searches(char *string, size_t size) {
    static const char *const stops[] = {"", "\6", "\6\7", "\1\6", "\6\6\2", "\3\6\7", "\6\7\10\11", "\6\7\10\2\5"};
    for (size_t i = 0; i < size; i++) string[i] = (char)(1 + below(5));
    string[size] = 0;
    expect(length(string) == size, "strlen", size);
    for (size_t n = 0; n < sizeof stops / sizeof *stops; n++) {
        size_t end = 0;
        while (end < size && (!*stops[n] || !strchr(stops[n], string[end]))) end++;
        expect(span(string, stops[n]) == end, "strcspn", size);
    }
    size_t part = below((uint32_t)size + 1);
    int byte = (int)below(8);
    char *place = NULL;
    for (size_t i = part; i--;)
        if (string[i] == byte) place = string + i;
    expect(find(string, byte | 0x100, part) == place, "memchr", size);
    /* A length that reaches past the end of the address space. */
    expect(find(string, 0, SIZE_MAX) == string + size, "memchr without a length", size);
}

int main(void) {
    for (size_t size = 0; size < 6000; size += size < 300 ? 1 : 1 + below(97))
        for (int times = 0; times < 6; times++) copies(size);
    for (size_t size = 0; size < 80; size++)
        for (size_t different = 0; different <= size; different++) comparisons(size, different);
    /* Strings that end with their page, before memory that nobody may read. */
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0, "the system", 0);
    for (size_t size = 0; size < 200; size++) {
        searches(pages + PAGE - size - 1, size);
        for (size_t place = 0; place < 32; place++) searches((char *)from + place, size);
    }
    puts("all as byte by byte");
    return 0;
}
