// Compare and exchange of 8 and 16 bytes, and other atomic operations.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
typedef unsigned __int128 u;
static _Alignas(16) u v = 5;
static _Alignas(16) u arr[4];
#define N __attribute__((noinline))
N int cas(volatile u *p, uint64_t elo, uint64_t ehi, uint64_t lo, uint64_t hi) {
    unsigned char z;
    uint64_t a = elo, d = ehi;
    __asm__ volatile("lock cmpxchg16b %1\n\tsetz %0"
                     : "=q"(z), "+m"(*p), "+a"(a), "+d"(d)
                     : "b"(lo), "c"(hi)
                     : "cc", "memory");
    return z * 10 + (a == elo);
}
N int cas8(volatile uint64_t *p, uint64_t e, uint64_t n) {
    unsigned char z;
    uint32_t a = e, d = e >> 32;
    __asm__ volatile("lock cmpxchg8b %1; setz %0"
                     : "=q"(z), "+m"(*p), "+a"(a), "+d"(d)
                     : "b"((uint32_t)n), "c"((uint32_t)(n >> 32))
                     : "cc", "memory");
    return z;
}
N u inc(int i, u *p) {
    cas(&p[i], p[i], p[i] >> 64, p[i] + 3, (p[i] >> 64) + 1);
    return p[i];
}
int main() {
    int r = cas(&v, 5, 0, 77, 88);
    int q = cas(&v, 5, 0, 1, 1);
    uint64_t w = 0x1122334455667788ull;
    int t = cas8(&w, 0x1122334455667788ull, 42);
    u x = inc(2, arr), y = inc(2, arr);
    atomic_int ai = 3;
    int e = 3;
    int c = atomic_compare_exchange_strong(&ai, &e, 9);
    unsigned char by = 7;
    int o = __atomic_fetch_xor(&by, 0x55, 5);
    short h = 3;
    int k = __atomic_fetch_nand(&h, 6, 5);
    long ex = __atomic_exchange_n((long *)&w, -1, 5);
    printf("%d %d %llu %llu %d %llu %llu %d %d %d %d %d %d %ld\n", r, q, (unsigned long long)v,
           (unsigned long long)(v >> 64), t, (unsigned long long)(y >> 64), (unsigned long long)y, c, (int)ai,
           o, by, k, h, ex);
    (void)x;
}
