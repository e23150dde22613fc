// Frames made by enter.
#include <stdio.h>
__attribute__((noinline)) long en(long a) {
    long r;
    __asm__ volatile("sub $128,%%rsp; enter $48,$0; mov %1,-8(%%rbp); mov -8(%%rbp),%0; leave; add $128,%%rsp"
                     : "=&r"(r)
                     : "r"(a)
                     : "memory", "cc");
    return r;
}
int main() { printf("%ld\n", en(42)); }
