// More values than registers.
#include <stdio.h>
#define N __attribute__((noinline))
N long ring(long *a, int n, int k) {
    long r0 = 1, r1 = 2, r2 = 3, r3 = 4, r4 = 5, r5 = 6, r6 = 7, r7 = 8, r8 = 9, r9 = 10, r10 = 11, r11 = 12,
         r12 = 13, r13 = 14;
    for (int i = 0; i < n; i++) {
        r0 += a[(i + k) % n] * r13;
        r1 ^= r0 + a[i];
        r2 -= r1;
        r3 += r2 * 3;
        r4 ^= r3 >> 3;
        r5 += r4 + a[(i * 3) % n];
        r6 ^= r5;
        r7 += r6 * r0;
        r8 -= r7;
        r9 ^= r8 >> 1;
        r10 += r9;
        r11 ^= r10 * 5;
        r12 += r11 + a[(i * 7) % n];
        r13 ^= r12;
    }
    return r0 ^ r1 ^ r2 ^ r3 ^ r4 ^ r5 ^ r6 ^ r7 ^ r8 ^ r9 ^ r10 ^ r11 ^ r12 ^ r13;
}
N void mm(int n, double *restrict c, const double *restrict a, const double *restrict b) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}
N unsigned crc(const unsigned char *p, int n) {
    unsigned c = ~0u;
    while (n--) {
        c ^= *p++;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    }
    return ~c;
}
N unsigned long sip(unsigned long a, unsigned long b, const unsigned char *m, int n) {
    unsigned long v0 = a ^ 0x736f6d65, v1 = b, v2 = a, v3 = b ^ 77;
    for (int i = 0; i + 8 <= n; i += 8) {
        unsigned long w;
        __builtin_memcpy(&w, m + i, 8);
        v3 ^= w;
        for (int k = 0; k < 2; k++) {
            v0 += v1;
            v1 = v1 << 13 | v1 >> 51;
            v1 ^= v0;
            v0 = v0 << 32 | v0 >> 32;
            v2 += v3;
            v3 = v3 << 16 | v3 >> 48;
            v3 ^= v2;
            v0 += v3;
            v3 = v3 << 21 | v3 >> 43;
            v3 ^= v0;
            v2 += v1;
            v1 = v1 << 17 | v1 >> 47;
            v1 ^= v2;
            v2 = v2 << 32 | v2 >> 32;
        }
        v0 ^= w;
    }
    return v0 ^ v1 ^ v2 ^ v3;
}
int main() {
    long a[32];
    for (int i = 0; i < 32; i++) a[i] = i * i - 50;
    double A[36], B[36], C[36];
    for (int i = 0; i < 36; i++) {
        A[i] = i / 7.;
        B[i] = 36 - i;
    }
    mm(6, C, A, B);
    unsigned char m[100];
    for (int i = 0; i < 100; i++) m[i] = i * 7;
    printf("%ld %.12g %x %lx\n", ring(a, 32, 5), C[17], crc(m, 100), sip(1, 2, m, 100));
}
