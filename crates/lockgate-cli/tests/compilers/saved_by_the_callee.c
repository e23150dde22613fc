// A function that saves every register.
#include <stdio.h>
typedef int (*pf)(const int *, long);
__attribute__((no_caller_saved_registers, noinline, target("general-regs-only"))) int slow(const int *p,
                                                                                           long i) {
    return p[i] + p[i + 1];
}
__attribute__((noinline)) long hot(long a, long b, long c, long d, long e, long g, const int *p) {
    long h = a * b, i = c * d, j = e * g, k = a ^ c;
    long t = slow(p, a & 3);
    return h ^ i ^ j ^ k ^ t ^ a ^ b ^ c ^ d ^ e ^ g;
}
int main() {
    int p[16];
    for (int i = 0; i < 16; i++) p[i] = i * i + 3;
    long h = 0;
    for (int i = 0; i < 50; i++) h = h * 31 + hot(i, i + 1, i + 2, i * 3, i ^ 9, 5, p);
    printf("%ld\n", h);
}
