// Structures by value, large, small, packed and empty, also as variable arguments.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
struct B {
    int a[50];
    double d[20];
    char c[33];
};
struct S3 {
    char c[3];
};
struct M {
    double d;
    long l;
};
struct F {
    float a, b, c;
};
struct L {
    long double ld;
    int i;
};
union U {
    double d;
    long l;
    char c[16];
};
struct E {};
struct __attribute__((packed)) P {
    char c;
    int i;
    short s;
    double d;
};
#define N __attribute__((noinline))
N struct B mk(int k, struct B b, struct S3 s) {
    for (int i = 0; i < 50; i++) b.a[i] += k * i;
    b.d[19] = s.c[2];
    b.c[32] = '!';
    return b;
}
N struct M mm(struct M m, struct F f, struct L l, union U u, struct P p, struct E e, int last) {
    m.d += f.a * f.b + f.c;
    m.l += l.ld * 2 + l.i + u.l + p.i + p.s + (long)p.d + last;
    return m;
}
N double va(int n, ...) {
    va_list ap, aq;
    va_start(ap, n);
    va_copy(aq, ap);
    double t = 0;
    for (int i = 0; i < n; i++) {
        struct B b = va_arg(ap, struct B);
        struct M m = va_arg(ap, struct M);
        t += b.a[3] + m.d + m.l;
        t += va_arg(ap, int);
        t += va_arg(ap, double);
        t += (double)va_arg(ap, long double);
        struct S3 s = va_arg(ap, struct S3);
        t += s.c[1];
    }
    struct B q = va_arg(aq, struct B);
    t += q.a[49];
    va_end(ap);
    va_end(aq);
    return t;
}
N struct B (*volatile fp)(int, struct B, struct S3) = mk;
int main() {
    struct B b;
    memset(&b, 1, sizeof b);
    b.d[19] = 0;
    struct S3 s = {{1, 2, 3}};
    struct B r = fp(3, b, s);
    long h = 0;
    for (int i = 0; i < 50; i++) h = h * 31 + r.a[i];
    struct M m = mm((struct M){1.5, 2}, (struct F){1, 2, 3}, (struct L){4.5L, 5}, (union U){.l = 6},
                    (struct P){'x', 7, 8, 9.5}, (struct E){}, 11);
    printf("%ld %g %c %g %ld %g\n", h, r.d[19], r.c[32], m.d, m.l,
           va(3, b, m, 1, 2.5, 3.25L, s, b, m, 2, 3.5, 4.25L, s, r, m, 4, 5., 6.L, s));
}
