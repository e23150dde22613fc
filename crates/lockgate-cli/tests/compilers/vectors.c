// Vectors of GCC, from 16 to 64 bytes.
#include <stdio.h>
#include <string.h>
typedef int v4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef unsigned char b16 __attribute__((vector_size(16)));
typedef long l2 __attribute__((vector_size(16)));
typedef int v16 __attribute__((vector_size(64)));
#define N __attribute__((noinline))
N v4 a(v4 x, v4 y) { return (x * y >> 1) + (x > y) - (y % 3); }
N b16 sh(b16 x, b16 m) { return __builtin_shuffle(x, m); }
N void f(const f8 *x, const f8 *y, f8 *r) { *r = *x * *y + *x / (*y + 1.5f); }
N void w(const v16 *x, v16 *r) {
    *r = (*x << 2) ^ *x;
    (*r)[5] = -1;
}
N l2 c(int n) {
    l2 r = {0, 1};
    for (int i = 0; i < n; i++) { r = (l2){r[1], r[0] + r[1]}; }
    return r;
}
int main() {
    v4 r = a((v4){1, -2, 3, 1000000}, (v4){5, 6, -7, 4000});
    printf("%d %d %d %d\n", r[0], r[1], r[2], r[3]);
    b16 x, m;
    for (int i = 0; i < 16; i++) {
        x[i] = i * 3;
        m[i] = (15 - i) ^ 1;
    }
    x = sh(x, m);
    for (int i = 0; i < 16; i++) printf("%d ", x[i]);
    f8 p, q, o;
    for (int i = 0; i < 8; i++) {
        p[i] = i + .5f;
        q[i] = i * 2;
    }
    f(&p, &q, &o);
    for (int i = 0; i < 8; i++) printf("%g ", o[i]);
    v16 e, g;
    for (int i = 0; i < 16; i++) e[i] = i * i;
    w(&e, &g);
    for (int i = 0; i < 16; i++) printf("%d ", g[i]);
    l2 z = c(60);
    printf("%ld %ld\n", z[0], z[1]);
}
