// Bit tests with offsets in constants.
#include <stdio.h>
__attribute__((noinline)) int a(unsigned long *p, int i) {
    unsigned char c;
    __asm__ volatile("btsq $9,%1; setc %0" : "=q"(c), "+m"(p[i])::"cc");
    return c;
}
__attribute__((noinline)) int b(unsigned int *p, int i) {
    unsigned char c;
    __asm__ volatile("lock btrl $31,%1; setc %0" : "=q"(c), "+m"(p[i])::"cc");
    return c;
}
__attribute__((noinline)) int d(unsigned short *p, int i) {
    unsigned char c;
    __asm__ volatile("btcw $3,%1; setc %0" : "=q"(c), "+m"(p[i])::"cc");
    return c;
}
__attribute__((noinline)) int e(unsigned long v, long i) {
    unsigned char c;
    __asm__ volatile("btq %2,%1; setc %0" : "=q"(c) : "r"(v), "r"(i) : "cc");
    return c;
}
__attribute__((noinline)) int f(unsigned long *p, int k) {
    return (*p >> (k & 63) & 1) + ((p[1] |= 1ul << (k & 63)) != 0) +
           __builtin_popcountl(p[2] ^= 1ul << (k & 63));
}
int main() {
    unsigned long v[4] = {0x200, 5, 0xffffffff80000000ul, 9};
    int r = 0;
    for (int k = 0; k < 3; k++) {
        r = r * 3 + a(v, k) + b((unsigned *)v, 5) + d((unsigned short *)v, k * 3) + e(v[k], 70 + k) +
            f(v, k * 17);
    }
    printf("%d %lx %lx %lx\n", r, v[0], v[1], v[2]);
}
