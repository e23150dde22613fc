// Narrow loads and stores, sign extension, indices that wrap.
#include <stdint.h>
#include <stdio.h>
#define N __attribute__((noinline))
N int64_t ld(const int8_t *a, const int16_t *b, const int32_t *c, const uint8_t *d, const uint16_t *e,
             int i) {
    return (int64_t)a[i] * b[i + 1] + c[i - 1] - d[-i] + (e[i] << 3);
}
N void st(uint8_t *a, uint16_t *b, uint32_t *c, uint64_t *d, int i, uint64_t v) {
    a[i] = v;
    b[i] = v >> 8;
    c[i] = v >> 16;
    d[i] = v * 3;
    ((uint8_t *)&d[i])[3] = 0xee;
}
N int neg(const int *p, long i) { return p[i] + p[-i] + p[i * 2 - 1]; }
N char *far(char *p, unsigned i) { return p + i; }
N int wrap(const int *p, unsigned i) { return p[i - 0xfffffff0u]; }
N int sx(const int *base, int i) { return base[(long)i]; }
static int G[256];
N int gl(int i) { return G[i + 3] + G[63 - i]; }
N void glw(unsigned char i) {
    G[i]++;
    G[(unsigned char)(i + 200) % 64] += 2;
}
int main() {
    int8_t a[] = {-1, 2, -3, 4};
    int16_t b[] = {1, -2, 3, -4};
    int32_t c[] = {5, -6, 7, 8};
    uint8_t d[] = {1, 2, 3, 4};
    uint16_t e[] = {9, 8, 7, 6};
    uint8_t A[4] = {0};
    uint16_t B[4] = {0};
    uint32_t C[4] = {0};
    uint64_t D[4] = {0};
    st(A, B, C, D, 2, 0x123456789abcdefull);
    int p[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (int i = 0; i < 64; i++) glw(i * 5);
    int s = 0;
    for (int i = 0; i < 60; i++) s = s * 3 + gl(i);
    char x[10] = "abcdefghi";
    printf("%lld %d %d %d %llx %d %d %s %d %d\n", (long long)ld(a, b, c, d + 3, e, 1), A[2], B[2], C[2],
           (long long)D[2], neg(p + 4, 2), s, far(x, 3), wrap(p, 0xfffffff3u), sx(p + 5, -3));
}
