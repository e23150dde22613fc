// Attributes of functions: naked, target, optimize, ms_abi, aligned frames.
#include <stdio.h>
__attribute__((naked, noinline)) long nk(long a, long b) { __asm__("lea 7(%rdi,%rsi,2),%rax\n\tret"); }
__attribute__((noinline)) int ret2(int a) {
    if (a) return 5;
    __builtin_trap();
}
__attribute__((noinline, target("avx2"))) void axp(float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) a[i] += b[i] * 2;
}
__attribute__((noinline, optimize("O3"))) int o3(const int *a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += a[i] * a[i];
    return s;
}
__attribute__((ms_abi, noinline)) long ms(long a, long b, long c, long d, long e, double f) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + (long)f;
}
__attribute__((regparm(3), noinline)) int rp(int a, int b) { return a - b; }
__attribute__((noinline)) long sp_align(int n) {
    _Alignas(128) char b[256];
    _Alignas(64) int c[n];
    for (int i = 0; i < n; i++) c[i] = i;
    b[n] = 5;
    return ((unsigned long)b % 128) + ((unsigned long)c % 64) * 1000 + b[n] + c[n - 1];
}
int main() {
    float a[9], b[9];
    for (int i = 0; i < 9; i++) {
        a[i] = i;
        b[i] = i * i;
    }
    axp(a, b, 9);
    int v[20];
    for (int i = 0; i < 20; i++) v[i] = i - 7;
    printf("%ld %d %g %d %ld %d %ld\n", nk(3, 4), ret2(1), a[8], o3(v, 20), ms(1, 2, 3, 4, 5, 6.5), rp(9, 4),
           sp_align(13));
}
