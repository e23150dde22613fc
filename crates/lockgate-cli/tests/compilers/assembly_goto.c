// Assembly that jumps to labels of C.
#include <stdio.h>
__attribute__((noinline)) int ag(int x, int y) {
    __asm__ goto("cmp %1,%0; jg %l2; je %l3" ::"r"(x), "r"(y) : "cc" : gt, eq);
    return -1;
gt:
    return 1;
eq:
    return 0;
}
__attribute__((noinline)) int fo(unsigned a, unsigned b) {
    int c, o, s;
    __asm__("cmp %4,%3" : "=@ccc"(c), "=@ccz"(o), "=@ccs"(s) : "r"(a), "r"(b));
    return c * 100 + o * 10 + s;
}
__attribute__((noinline)) unsigned long adc4(unsigned long *a, const unsigned long *b) {
    unsigned long c = 0;
    __asm__ volatile("mov (%2),%0; add %0,(%1); mov 8(%2),%0; adc %0,8(%1); mov 16(%2),%0; adc %0,16(%1); "
                     "mov 24(%2),%0; adc %0,24(%1); sbb %0,%0"
                     : "=&r"(c)
                     : "r"(a), "r"(b)
                     : "memory", "cc");
    return c;
}
__attribute__((noinline)) long lp(long *a, int n) {
    long r;
    int i = n;
    __asm__ volatile("xor %0,%0; clc\n1: adc (%1),%0; lea 8(%1),%1; dec %2; jnz 1b; adc $0,%0"
                     : "=&r"(r), "+r"(a), "+r"(i)::"memory", "cc");
    return r;
}
int main() {
    unsigned long a[4] = {~0ul, ~0ul, ~0ul, ~0ul}, b[4] = {1, 0, 0, 0};
    long v[5] = {-1, -1, 2, -5, 7};
    unsigned long c = adc4(a, b);
    printf("%d %d %d %d %d %lx %lx %lx %ld\n", ag(1, 2), ag(2, 2), ag(3, 2), fo(1, 2), fo(2, 2), c, a[0],
           a[3], lp(v, 5));
}
