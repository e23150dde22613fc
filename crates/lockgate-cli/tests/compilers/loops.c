// Loops that compilers vectorise, gathers and scatters among them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int A[300], B[300];
static short S[301];
static double D[100];
static unsigned char C[1024];
#define N __attribute__((noinline))
N void init() {
    for (int i = 0; i < 300; i++) {
        A[i] = i * 7 % 31;
        B[i] = i ^ 0x55;
    }
    for (int i = 0; i < 301; i++) S[i] = i * 3;
    for (int i = 0; i < 100; i++) D[i] = i / 3.0;
    for (int i = 0; i < 1024; i++) C[i] = i * i >> 3;
}
N int gat(const int *idx, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += A[idx[i]] * B[i];
    return s;
}
N void scat(int *d, const int *idx, int n) {
    for (int i = 0; i < n; i++) d[idx[i]] += i;
}
N double red(int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += D[i] * S[i + 1];
    return s;
}
N int hist(void) {
    int h[256] = {0};
    for (int i = 0; i < 1024; i++) h[C[i]]++;
    int r = 0;
    for (int i = 0; i < 256; i++) r = r * 5 + h[i];
    return r;
}
N long str(char *d, const char *s) {
    long n = 0;
    while ((*d++ = *s++)) n++;
    return n;
}
N void rev(int *p, int n) {
    for (int i = 0; i < n / 2; i++) {
        int t = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = t;
    }
}
N int minmax(int n) {
    int mi = 1 << 30, ma = 0;
    for (int i = 0; i < n; i++) {
        mi = B[i] < mi ? B[i] : mi;
        ma = A[i] > ma ? A[i] : ma;
    }
    return ma * 1000 + mi;
}
int main() {
    init();
    int idx[300], d[300] = {0};
    for (int i = 0; i < 300; i++) idx[i] = (i * 37) % 300;
    printf("%d ", gat(idx, 299));
    scat(d, idx, 300);
    rev(d, 299);
    long s = 0;
    for (int i = 0; i < 300; i++) s = s * 3 + d[i];
    char b[100];
    printf("%ld %.15g %d %ld %d\n", s, red(100), hist(), str(b, "the quick brown fox"), minmax(300));
}
