// More values across one call than the callee must save.
#include <stdio.h>
__attribute__((noinline)) static long tiny(long x) { return x * 3 + 1; }
__attribute__((noinline)) long f(long a, long b, long c, long d, long e, long g) {
    long i = a * 7, j = b * 9, k = c * 5;
    long t = tiny(e);
    return i + j * k + t * g + a + b + c + d + e;
}
int main() { printf("%ld\n", f(1, 2, 3, 4, 5, 6)); }
