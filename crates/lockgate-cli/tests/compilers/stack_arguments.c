// Arguments on the stack, variable ones, and those whose address is taken.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#define N __attribute__((noinline))
N static int vs(char *b, const char *f, ...) {
    va_list a;
    va_start(a, f);
    int n = vsnprintf(b, 200, f, a);
    va_end(a);
    return n;
}
N static long sum(int n, ...) {
    va_list a;
    va_start(a, n);
    long s = 0;
    for (int i = 0; i < n; i++) {
        s = s * 3 + va_arg(a, int);
        s += (long)va_arg(a, double);
        s += *va_arg(a, char *);
    }
    va_end(a);
    return s;
}
N static void out(int a, int b, int c, int d, int e, int f, int *g, int *h) {
    *g = a + b + c + d + e + f;
    *h = *g * 2;
}
N static int addr(int a, int b, int c, int d, int e, int f, int g, int h) {
    int *p = &g;
    int *q = &h;
    *p += *q;
    *q -= a;
    return *p * 100 + *q + b + c + d + e + f;
}
N static int modarg(
    int a, int b, int c, int d, int e, int f, struct { int x[9]; } s) {
    s.x[3] = a;
    int t = 0;
    for (int i = 0; i < 9; i++) t = t * 3 + s.x[i];
    return t + b + c + d + e + f;
}
int main() {
    char b[200];
    int n = vs(b, "%d %s %g %c %ld %x %f %s %d %d", 1, "two", 3.5, '4', 5L, 6, 7.25, "eight", 9, 10);
    int g, h;
    out(1, 2, 3, 4, 5, 6, &g, &h);
    printf("%s %d %ld %d %d %d\n", b, n,
           sum(9, 1, 2.5, "a", 2, 3.5, "b", 3, 4.5, "c", 4, 5.5, "d", 5, 6.5, "e", 6, 7.5, "f", 7, 8.5, "g",
               8, 9.5, "h", 9, 10.5, "i"),
           g, h, addr(1, 2, 3, 4, 5, 6, 7, 8));
}
