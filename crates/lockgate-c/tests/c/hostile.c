/* A module that lies. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int host_measure(const char *text);

static char unterminated[1 << 16];

/* A pointer that is none of the domain's: the caller says which. */
void *any_pointer(uintptr_t bits) { return (void *)bits; }
/* A string without an end. */
char *endless(void) {
    memset(unterminated, 'x', sizeof unterminated);
    return unterminated;
}
/* A string that ends where the domain's memory does. */
char *on_the_edge(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    memset(pages, 'y', 4096);
    return pages + 4000;
}
/* A length beyond any buffer. */
size_t lie(void) { return SIZE_MAX; }
/* Calls a pointer that was never given. */
int call_anything(int (*function)(int), int x) { return function(x); }
/* Hands the host a pointer of its own choice. */
int measure(uintptr_t bits) { return host_measure((const char *)bits); }
/* Damages its own heap, so that free fails. */
void break_heap(char *block) { memset(block - 64, 0xff, 4096); }
