// Frame addresses as numbers.
#include <stdint.h>
#include <stdio.h>
static __attribute__((noinline)) int rel(void) {
    volatile char x[64];
    uintptr_t f = (uintptr_t)__builtin_frame_address(0), a = (uintptr_t)x;
    return a < f && f - a < 4096;
}
static __attribute__((noinline)) int depth(int n, uintptr_t prev) {
    uintptr_t f = (uintptr_t)__builtin_frame_address(0);
    if (prev && f >= prev) return -1000;
    volatile int k = n;
    if (n == 0) return 0;
    return 1 + depth(k - 1, f);
}
static __attribute__((noinline)) void *up(void) { return __builtin_frame_address(1); }
static __attribute__((noinline)) int check1(void) {
    void *me = __builtin_frame_address(0);
    return up() == me;
}
int main() { printf("%d %d %d\n", rel(), depth(10, 0), check1()); }
