// 128-bit integers and checked arithmetic.
#include <stdio.h>
typedef unsigned __int128 u;
typedef __int128 i;
#define N __attribute__((noinline))
N u mul(u a, u b) { return a * b; }
N u dv(u a, u b) { return a / b; }
N i sm(i a, i b) { return a % b; }
N u sh(u a, int k) { return a << k | a >> (128 - k); }
N int cmp(i a, i b) { return a < b ? -1 : a > b; }
N double tod(i a) { return (double)a; }
N i fromd(double d) { return (i)d; }
N int ov(long a, long b, long *r) {
    return __builtin_mul_overflow(a, b, r) | __builtin_add_overflow(*r, b, r) << 1;
}
static void p(u x) { printf("%016llx%016llx ", (unsigned long long)(x >> 64), (unsigned long long)x); }
int main() {
    u a = ((u)0x123456789abcdef0ull << 64) | 0xfedcba9876543210ull, b = ((u)0xffff << 64) | 0x1234567;
    p(mul(a, b));
    p(dv(a, b));
    p(sm(-(i)a, (i)b));
    for (int k = 1; k < 128; k += 25) p(sh(a, k));
    printf("%d %g ", cmp(-1, (i)a), tod(-(i)a));
    p(fromd(-1.5e30));
    long r;
    int o = ov(1L << 40, 1L << 30, &r);
    printf("%d %ld\n", o, r);
}
