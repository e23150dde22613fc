// Large frames, and many arguments.
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static int big(int n) {
    char b[70000];
    memset(b, n, sizeof b);
    if (n > 0) return big(n - 1) + b[69999] + b[0];
    return b[n + 5];
}
__attribute__((noinline)) static int pg(int n) {
    char b[4096 * 3];
    for (int i = 0; i < 3; i++) b[i * 4096] = i + n;
    int s = 0;
    for (int i = 0; i < 3; i++) s += b[i * 4096];
    return s;
}
__attribute__((noinline)) static long args(long a, long b, long c, long d, long e, long f, long g, long h,
                                           long i, long j, long k, long l, double m, float n, double o,
                                           double p, double q, double r, double s, double t, double u,
                                           double w) {
    return a + b * 2 + c * 3 + d * 5 + e * 7 + f * 11 + g * 13 + h * 17 + i * 19 + j * 23 + k * 29 + l * 31 +
           (long)(m + n * 2 + o * 3 + p * 4 + q * 5 + r * 6 + s * 7 + t * 8 + u * 9 + w * 10);
}
int main() {
    printf("%d %d %ld\n", big(9), pg(4),
           args(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1.5, 2.5f, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5));
}
