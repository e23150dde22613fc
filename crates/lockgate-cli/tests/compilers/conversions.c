// Conversions between numbers.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#define N __attribute__((noinline))
N uint64_t d2u(double d) { return (uint64_t)d; }
N double u2d(uint64_t u) { return (double)u; }
N float u2f(uint64_t u) { return (float)u; }
N int8_t d2c(double d) { return (int8_t)(int)d; }
N float h(float a, float b) { return fmaf(a, b, -a) / b; }
N int ord(double a, double b) {
    return (a < b) | (a <= b) << 1 | (a > b) << 2 | (a == b) << 3 | (a != b) << 4 | isunordered(a, b) << 5;
}
N double fl(double x) { return floor(x) * 1000 + ceil(x) * 100 + rint(x) * 10 + trunc(x) + round(x); }
N _Float128 q(_Float128 a) { return a * a / 3 + 1; }
int main() {
    printf("%llu %llu %.17g %.9g %d %.9g %d %d %d %g %g %.17g\n", (unsigned long long)d2u(1.8e19),
           (unsigned long long)d2u(3.7), u2d(~0ull), u2f((1ull << 63) + 12345), d2c(-100.9), h(1.1f, 2.3f),
           ord(1, 2), ord(NAN, 1), ord(2, 2), fl(-2.5), fl(3.5), (double)q(2.25));
    printf("%a %.3f %e %g\n", 0.1, 1234.5678, 1e-5, pow(2, 0.5));
}
