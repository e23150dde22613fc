// long double, complex numbers and the x87 stack.
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#define N __attribute__((noinline))
N long double f(long double a, long double b) { return a * b / (a + b) - sqrtl(a) + fmodl(b, a); }
N long double poly(int n, long double x) {
    long double r = 0;
    long double c[n];
    for (int i = 0; i < n; i++) c[i] = 1.0L / (i + 1);
    for (int i = n - 1; i >= 0; i--) r = r * x + c[i];
    return r;
}
N long long cv(long double x) { return (long long)x; }
N unsigned long long cu(long double x) { return (unsigned long long)x; }
N _Complex double cm(_Complex double a, _Complex double b) { return a * b / (a - b); }
N _Complex long double cml(_Complex long double a) { return a * a + 1; }
int main() {
    printf("%.18Lg %.18Lg %lld %llu\n", f(3.1L, 7.7L), poly(20, 0.5L), cv(-1234567890123.7L), cu(1.8e19L));
    _Complex double z = cm(1 + 2i, 3 - 1i);
    _Complex long double y = cml(2 - 3i);
    printf("%.15g %.15g %.15Lg %.15Lg\n", __real z, __imag z, __real y, __imag y);
    volatile double d = 1e308;
    volatile int k = !!isinf(d * 10);
    unsigned short cw;
    __asm__("fnstcw %0" : "=m"(cw));
    printf("%d %x %.17g %.17g %d\n", k, cw, sin(1e6), (double)tanl(2.5L), (int)lrintl(2.5L));
    long double st;
    double x = 2;
    __asm__("fldl %1; fsqrt; fstpt %0" : "=m"(st) : "m"(x));
    printf("%.18Lg\n", st);
    double sres;
    __asm__("fldpi; fldl %1; fmulp; fsin; fstpl %0" : "=m"(sres) : "m"(x));
    printf("%.6g\n", sres * 1e10);
}
