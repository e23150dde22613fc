// Bit-fields.
#include <stdio.h>
#include <string.h>
struct b {
    unsigned a : 3;
    int b : 7;
    unsigned long c : 41;
    signed char d : 5;
    unsigned e : 1;
    _Bool f : 1;
    long long g : 50;
};
struct __attribute__((packed)) q {
    char x;
    unsigned long y : 37;
    int z : 11;
    short w;
};
__attribute__((noinline)) void m(struct b *p, int i) {
    p[i].a += i;
    p[i].b -= i * 3;
    p[i].c = p[i].c * 5 + i;
    p[i].d ^= i;
    p[i].f = i & 4;
    p[i].g -= (1ll << 40) * i;
}
__attribute__((noinline)) void w(struct q *p, int n) {
    for (int i = 0; i < n; i++) {
        p[i].y = ~(unsigned long)i * 77;
        p[i].z = -i * 5;
        p[i].w = i;
    }
}
int main() {
    struct b v[6];
    memset(v, 0, sizeof v);
    for (int j = 0; j < 9; j++)
        for (int i = 0; i < 6; i++) m(v, i);
    unsigned long h = 0;
    for (int i = 0; i < 6; i++) h = h * 33 + v[i].a + v[i].b + v[i].c + v[i].d + v[i].f + v[i].g;
    struct q z[7];
    memset(z, 0, sizeof z);
    w(z, 7);
    for (size_t i = 0; i < sizeof z; i++) h = h * 33 + ((unsigned char *)z)[i];
    printf("%lx\n", h);
}
