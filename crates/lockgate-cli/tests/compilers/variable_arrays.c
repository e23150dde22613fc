// Variable-length arrays and alloca in loops, left by continue, goto and at their scopes' ends.
#include <alloca.h>
#include <stdio.h>
#include <string.h>
static __attribute__((noinline)) int use(char *p, int n) {
    memset(p, n & 255, n);
    int s = 0;
    for (int i = 0; i < n; i++) s += (unsigned char)p[i];
    return s;
}
static __attribute__((noinline)) long f(int n) {
    long t = 0;
    for (int i = 1; i < n; i++) {
        char a[i * 7];
        long b[i];
        b[i - 1] = i;
        t += use(a, sizeof a) + b[i - 1];
        if (i % 5 == 0) continue;
        {
            int c[i + 3];
            c[i] = i;
            t += c[i];
            if (i == 17) goto out;
        }
    }
out:
    return t;
}
static __attribute__((noinline)) long g(int n) {
    char *k[20];
    for (int i = 0; i < n; i++) {
        k[i] = alloca(100 + i);
        k[i][0] = i;
        k[i][99 + i] = i * 2;
    }
    long t = 0;
    for (int i = 0; i < n; i++) t += k[i][0] * 3 + k[i][99 + i];
    return t;
}
static __attribute__((noinline)) double h(int n, int m, double a[n][m]) {
    double b[m][n];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) b[j][i] = a[i][j];
    double s = 0;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) s = s * 1.5 + b[j][i];
    return s;
}
int main() {
    double a[3][4];
    for (int i = 0; i < 12; i++) ((double *)a)[i] = i;
    printf("%ld %ld %ld %g\n", f(12), f(40), g(20), h(3, 4, a));
}
