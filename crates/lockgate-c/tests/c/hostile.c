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

/* What no compiler makes of a bool, and a structure with one. */
unsigned char odd_truth(void) { return 238; }
unsigned char *odd_truths(void) {
    static unsigned char bytes[2] = {238, 0};
    return bytes;
}
struct record {
    int width;
    unsigned char wide;
    char *name;
    short pair[2];
    long undeclared;
};
struct record *records(void) {
    static struct record all[2] = {{1, 0, "one", {2, 3}, 77}, {4, 238, 0, {5, 6}, 77}};
    return all;
}
int padding_of(const struct record *at) {
    int sum = 0;
    for (const unsigned char *byte = &at->wide + 1; byte < (const unsigned char *)&at->name; byte++)
        sum += *byte;
    return sum + (int)at->undeclared;
}
int pass_wild_text(int (*function)(const char *)) { return function((const char *)0x10); }
int pass_twice(int (*function)(int), int x) { return function(x) + function(x + 1); }
