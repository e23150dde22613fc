// Leaf functions, the red zone, and memory operands of inline assembly.
#include <stdio.h>
#include <string.h>
static __attribute__((noinline)) long leaf(long a, long b, long c) {
    volatile long t[12];
    for (int i = 0; i < 12; i++) t[i] = a * i + b;
    long s = 0;
    for (int i = 0; i < 12; i++) s += t[i] * c;
    return s;
}
static __attribute__((noinline)) long rz(long a) {
    long r;
    __asm__ volatile("mov %1,-8(%%rsp)\n\tmovq $7,-128(%%rsp)\n\tmov -8(%%rsp),%0\n\tadd -128(%%rsp),%0"
                     : "=&r"(r)
                     : "r"(a)
                     : "memory");
    return r;
}
static __attribute__((noinline)) long memop(long *p, int i) {
    long r = 3, z = 4;
    __asm__ volatile("addq %2,%0\n\tlock xaddq %1,%2" : "+r"(r), "+r"(z), "+m"(p[i])::"memory", "cc");
    return r + z;
}
int main() {
    long arr[4] = {10, 20, 30, 40};
    printf("%ld %ld %ld\n", leaf(3, 4, 5), rz(35), memop(arr, 2));
    for (int i = 0; i < 4; i++) printf("%ld ", arr[i]);
    puts("");
}
