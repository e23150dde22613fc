// Structures of floating-point numbers, complex numbers, arrays of long double.
#include <stdio.h>
#include <string.h>
#include <tgmath.h>
struct v {
    float x, y, z, w;
};
struct d2 {
    double a, b;
};
struct mix {
    float f;
    int i;
};
struct nest {
    struct mix m;
    struct {
        short s;
        char c;
    } n;
};
#define N __attribute__((noinline))
N struct v cross(struct v a, struct v b) {
    return (struct v){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, a.w + b.w};
}
N struct d2 sw(struct d2 a) { return (struct d2){a.b, a.a}; }
N struct mix mx(struct mix m, struct nest n) {
    m.f += n.m.f;
    m.i += n.n.s + n.n.c;
    return m;
}
N struct nest nn(struct nest n) {
    n.m.i++;
    n.n.s--;
    return n;
}
N float _Complex cf(float _Complex z) { return z * (1 + 2i); }
N long double ldsum(const long double *p, int n) {
    long double s = 0;
    while (n--) s += p[n] * n;
    return s;
}
N long double *ldp(long double *p, int i) {
    p[i] = p[i - 1] * 1.5L;
    return p + i;
}
int main() {
    struct v r = cross((struct v){1, 2, 3, 4}, (struct v){5, 6, 7, 8});
    struct d2 s = sw((struct d2){1.25, 2.5});
    struct mix m = mx((struct mix){1.5, 2}, nn((struct nest){{2.5, 3}, {4, 5}}));
    float _Complex z = cf(3 - 1i);
    long double l[5] = {1, 2, 3, 4, 5};
    ldp(l, 3);
    printf("%g %g %g %g %g %g %g %d %g %g %Lg %Lg\n", r.x, r.y, r.z, r.w, s.a, s.b, m.f, m.i, crealf(z),
           cimagf(z), ldsum(l, 5), *ldp(l, 4));
}
