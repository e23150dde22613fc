/* Functions see who called them, through frames of every kind. */
#include <alloca.h>
#include <execinfo.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *seen[400];
static int count;
static jmp_buf out;

__attribute__((noinline)) static int look(int n) {
    count = backtrace(seen, 400);
    return n + 1;
}

__attribute__((noinline)) static int constant(int n) {
    volatile char room[300];
    room[0] = look(n);
    return room[0] + 1;
}

__attribute__((noinline)) static int computed(int n) {
    volatile char *room = alloca(n * 24 + 1);
    room[n] = constant(n);
    return room[n] + 1;
}

__attribute__((noinline)) static int aligned(int n) {
    _Alignas(128) volatile char room[128];
    room[n] = computed(n);
    return room[n] + ((unsigned long)room % 128 == 0);
}

__attribute__((noinline)) static int deep(int n, int m) {
    return n ? deep(n - 1, m) + 1 : aligned(m);
}

__attribute__((noinline)) static int thrower(int n) {
    if (n == 0) longjmp(out, 7);
    return thrower(n - 1) + 1;
}

/* Whether the number-th function in progress is `of`: it goes on within a few hundred bytes of its start. */
static int is_in(int number, void *of) {
    long distance = (char *)seen[number] - (char *)of;
    return distance > 0 && distance < 700;
}

int main(void) {
    int value = deep(100, 3);
    int all = count;
    printf("%d %d %d %d %d\n", value > 0, is_in(0, look), is_in(1, constant), is_in(2, computed), is_in(3, aligned));
    int recursions = 0;
    while (4 + recursions < all && is_in(4 + recursions, deep)) recursions++;
    printf("%d\n", recursions);
    deep(5, 3);
    printf("%d\n", all - count);
    /* Functions that a jump has left are gone. */
    if (setjmp(out) == 0) thrower(50);
    deep(5, 3);
    printf("%d\n", count - all);
    char **symbols = backtrace_symbols(seen, 2);
    char expected[32];
    snprintf(expected, sizeof expected, "[%p]", seen[1]);
    printf("%d\n", strcmp(symbols[1], expected));
    free(symbols);
    fflush(stdout);
    backtrace_symbols_fd((void *[]){(void *)0x12ab, 0, (void *)-1l}, 3, 1);
    return 0;
}
