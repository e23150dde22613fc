// Tail calls, direct, through pointers and with stack arguments.
#include <stdio.h>
typedef long (*op)(long, long, const unsigned char *, void *);
static long A(long, long, const unsigned char *, void *), M(long, long, const unsigned char *, void *),
    S(long, long, const unsigned char *, void *), H(long, long, const unsigned char *, void *);
static const op T[] = {A, M, S, H};
static long A(long a, long b, const unsigned char *p, void *c) { return T[*p](a + b, b, p + 1, c); }
static long M(long a, long b, const unsigned char *p, void *c) { return T[*p](a * 3, b, p + 1, c); }
static long S(long a, long b, const unsigned char *p, void *c) { return T[*p](b, a, p + 1, c); }
static long H(long a, long b, const unsigned char *p, void *c) {
    *(long *)c = b;
    return a;
}
static long many(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
__attribute__((noinline)) static long wrap(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    return many(i, h, g, f, e, d, c, b, a);
}
int main() {
    static unsigned char p[3001];
    for (int i = 0; i < 3000; i++) p[i] = i % 3;
    p[3000] = 3;
    long c;
    long r = A(1, 2, p, &c);
    printf("%ld %ld %ld\n", r, c, wrap(1, 2, 3, 4, 5, 6, 7, 8, 9));
}
