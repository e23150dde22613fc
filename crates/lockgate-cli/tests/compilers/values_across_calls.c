// Values that stay in registers across calls of functions whose code the compiler sees.
#include <stdio.h>
static volatile int V[64];
static long G[32];
__attribute__((noinline)) static int tiny(int x) { return x * 3 + 1; }
__attribute__((noinline)) static int mem(const int *p) { return p[2]; }
__attribute__((noinline)) static void st(int *p, int v) { *p = v; }
__attribute__((noinline)) static int idx(const int *p, long i) { return p[i] + p[i + 1]; }
__attribute__((noinline)) static int sw(int x) {
    switch (x) {
    case 0:
        return 5;
    case 1:
        return 9;
    case 2:
        return 33;
    case 3:
        return 2;
    case 4:
        return 8;
    case 5:
        return 1;
    case 6:
        return 77;
    }
    return 4;
}
__attribute__((noinline)) static int ind(int x) {
    static int (*const t[])(int) = {tiny, sw};
    return t[x & 1](x);
}
__attribute__((noinline)) static long f(long a, long b, long c, long d, long e, long g, const int *p) {
    long h = a * b, i = c * d, j = e * g, k = a ^ c, l = b ^ d, m = e - g, n = a + e, o = b * g,
         q = c * e + 1, r = d * g - 2, s = a - d;
    int t = 0;
    int buf[4];
    for (int z = 0; z < 5; z++) {
        t += tiny(z);
        t += mem(p + z);
        st(buf, t);
        t += idx(p, z);
        t += sw(z);
        h += i;
        i ^= j;
        j += k;
        k -= l;
        l ^= m;
        m += n;
        n ^= o;
        o += q;
        q -= r;
        r += s;
        s ^= h;
        t += buf[0];
    }
    return h ^ i ^ j ^ k ^ l ^ m ^ n ^ o ^ q ^ r ^ s ^ t ^ a ^ b ^ c ^ d ^ e ^ g;
}
__attribute__((noinline)) static long leaf2(long a, long b, long c, long d, long e, long g) {
    long r10 = a * 7, r11 = b * 9, x = c * 5, y = d * 3;
    int t = tiny((int)e);
    return r10 + r11 * x - y + t * g + a + b + c + d;
}
__attribute__((noinline)) static long leaf3(long a, long b, long c, long d, int *p, const int *q) {
    long s = a * 11, t = b * 13, u = c * 17, v = d * 19, w = a ^ b;
    int z = mem(q);
    st(p, z);
    z += idx(q, c & 3);
    z += sw(d & 7);
    return s ^ t ^ u ^ v ^ w ^ z ^ a ^ b ^ c ^ d;
}
int main() {
    int p[16];
    for (int i = 0; i < 16; i++) p[i] = i * i + 3;
    int o;
    long h = 0;
    for (int i = 0; i < 50; i++) {
        h = h * 31 + f(i, i + 1, i * 2, i ^ 5, i - 3, 7, p);
        h = h * 31 + leaf2(i, i * 3, i + 7, i - 1, i, i * i);
        h = h * 31 + leaf3(i, 2 * i, i + 3, i, &o, p) + o;
    }
    printf("%ld %d\n", h, ind(4));
}
