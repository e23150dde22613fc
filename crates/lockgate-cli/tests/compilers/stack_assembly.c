// rsp in inline assembly, high bytes, 32-bit addresses.
#include <stdio.h>
#define N __attribute__((noinline))
N long rspread(void) {
    long a = 0x55, b;
    __asm__ volatile("mov %%rsp,%%rax; sub $256,%%rax; mov %1,(%%rax); mov (%%rax),%0"
                     : "=r"(b)
                     : "r"(a)
                     : "rax", "memory");
    return b;
}
N long viaidx(long i) {
    long r;
    __asm__ volatile(
        "sub $128,%%rsp; movq $11,(%%rsp); movq $22,8(%%rsp); mov (%%rsp,%1,8),%0; add $128,%%rsp"
        : "=&r"(r)
        : "r"(i)
        : "memory", "cc");
    return r;
}
N long xchgm(long *p) {
    long r = 5;
    __asm__ volatile("xchg %0,%1" : "+r"(r), "+m"(*p));
    return r;
}
N long lea_(long a) {
    long r;
    __asm__("lea 0x12345678(,%1,8),%0" : "=r"(r) : "r"(a));
    return r;
}
N int lea32(long a) {
    int r;
    __asm__("leal -3(%1,%1,2),%0" : "=r"(r) : "r"(a));
    return r;
}
N long a32(long *p) {
    long r;
    __asm__("mov (%k1),%0" : "=r"(r) : "r"(p) : "memory");
    return r;
}
N unsigned mb(unsigned *p) {
    unsigned r;
    __asm__("movbe %1,%0" : "=r"(r) : "m"(*p));
    return r;
}
N int ah(int x) {
    int r;
    __asm__("mov %1,%%eax; add %%ah,%%al; movzx %%ah,%0" : "=r"(r) : "r"(x) : "eax", "cc");
    return r;
}
N int ahm(unsigned char *p, int x) {
    int r;
    __asm__("mov %2,%%eax; mov %%ah,%1; movzbl %1,%0" : "=r"(r), "+m"(*p) : "r"(x) : "eax", "memory");
    return r;
}
int main() {
    long v = 9;
    unsigned u = 0x11223344;
    unsigned char c[4] = {0};
    printf("%lx %ld %ld %ld %ld %lx %d %x %x %x %d\n", rspread(), viaidx(0), viaidx(1), xchgm(&v), v, lea_(3),
           lea32(10), mb(&u), ah(0x1234), ahm(c + 1, 0xabcd), c[1]);
}
