// Built-in functions.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define N __attribute__((noinline))
N int cl(unsigned long x) {
    return __builtin_clzl(x) * 1000000 + __builtin_ctzl(x) * 10000 + __builtin_popcountl(x) * 100 +
           __builtin_parityl(x) + __builtin_ffsl(x);
}
N uint64_t bs(uint64_t *p, int i) {
    return __builtin_bswap64(p[i]) ^ __builtin_bswap32(p[i + 1]) ^ __builtin_bswap16(p[i + 2]);
}
N uint32_t rot(uint32_t x, int k) { return x << (k & 31) | x >> (-k & 31); }
N int cnd(const int *p, int n) {
    int r = 0;
    for (int i = 0; i < n; i++) r += p[i] > 3 ? p[i] : -p[i];
    return r;
}
N const char *sel(int x) { return x > 0 ? "pos" : x < 0 ? "neg" : "zero"; }
N void cpy(char *d, const char *s, size_t n) { __builtin_memcpy(d, s, n); }
N int un(int x) {
    if (x > 100) __builtin_unreachable();
    return x * 3;
}
N long mulhi(long a, long b) { return (long)(((__int128)a * b) >> 64); }
N unsigned divm(unsigned a, unsigned b, unsigned *m) {
    *m = a % b;
    return a / b;
}
N int sgn(double d) { return __builtin_signbit(d) != 0; }
N double cs(double a, double b) { return __builtin_copysign(a, b) + __builtin_fabs(b); }
int main() {
    uint64_t a[] = {0x0102030405060708ull, 0x1112131415161718ull, 0x2122};
    int v[] = {1, 5, 3, 9, -4, 4};
    char d[40];
    cpy(d, "hello builtin world", 20);
    unsigned m;
    unsigned q = divm(1000, 7, &m);
    printf("%d %llx %x %d %s%s%s %s %d %ld %u %u %d %g\n", cl(0xf00ff000ul), (unsigned long long)bs(a, 0),
           rot(0x80000001, 5), cnd(v, 6), sel(1), sel(0), sel(-1), d, un(9),
           mulhi(-123456789012345L, 987654321098765L), q, m, sgn(-0.0), cs(3, -0.5));
}
