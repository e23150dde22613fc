// Flags that live across what the rewriter adds.
#include <stdint.h>
#include <stdio.h>
#define N __attribute__((noinline))
N int f1(int *p, int *q) {
    int c = *p--;
    if (--*q < 0) c += *q;
    if ((*p &= 7)) c += 100;
    if (!(*q |= *p)) c += 1000;
    return c;
}
N int f2(unsigned char *p, int n) {
    int r = 0;
    for (int i = 0; i < n; i++) {
        if ((signed char)p[i] < 0) r++;
        if (p[i] & 0x10) r += 10;
        if (++p[i] == 0) r += 100;
    }
    return r;
}
N long f3(long a, long *b) {
    long t = a + *b;
    if (__builtin_add_overflow(a, *b, b)) return -t;
    return *b > 0 ? t : ~t;
}
N unsigned f4(uint64_t *a, uint64_t *b, int n) {
    unsigned c = 0;
    for (int i = 0; i < n; i++) {
        uint64_t s = a[i] + b[i];
        unsigned c1 = s < a[i];
        uint64_t s2 = s + c;
        c = c1 | (s2 < s);
        a[i] = s2;
    }
    return c;
}
N int f5(int *p) { return __builtin_expect((*p)-- > 0, 1) ? *p : -*p; }
int main() {
    int x[3] = {1, 14, 3}, q = 0;
    int r = f1(&x[1], &q);
    unsigned char u[] = {0x80, 0xff, 0x10, 0x7f, 0};
    r = r * 31 + f2(u, 5);
    long b = 1L << 62;
    long t = f3(1L << 62, &b);
    uint64_t a[4] = {~0ull, ~0ull, 5, ~0ull}, c[4] = {1, 0, ~0ull, 0};
    unsigned k = f4(a, c, 4);
    int z = 0;
    r = r * 31 + f5(&z);
    printf("%d %ld %ld %u %llx %llx %d\n", r, t, b, k, (long long)a[2], (long long)a[3], q);
}
