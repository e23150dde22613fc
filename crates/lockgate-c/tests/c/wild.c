/* A module whose allocator gives what is no room. */
#include <stddef.h>
#include <stdint.h>

enum { NOTHING, ELSEWHERE, SHORT, LAST, NULL_PAGE, CODE, READ_ONLY, GOOD };
static int mode = GOOD;
static char pages[4 * 4096] __attribute__((aligned(4096)));
static const char constant[2 * 4096] __attribute__((aligned(4096))) = {1};

void set_mode(int chosen) { mode = chosen; }

void *malloc(size_t size) {
    (void)size;
    switch (mode) {
    case NOTHING:
        return 0;
    case ELSEWHERE:
        return (void *)0x7fff12345678;
    case SHORT: /* the module's own, but what follows */
        return pages + sizeof pages - 8;
    case LAST:
        return (void *)-16ul;
    case NULL_PAGE:
        return (void *)0x1000;
    case CODE:
        return (void *)(uintptr_t)&set_mode;
    case READ_ONLY:
        return (void *)constant;
    }
    return pages;
}
void free(void *at) { (void)at; }
