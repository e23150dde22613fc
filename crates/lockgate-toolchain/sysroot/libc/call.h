/* System calls that leave errno alone: some are made by a thread that has none yet. */
#ifndef LOCKGATE_CALL_H
#define LOCKGATE_CALL_H

#include <sys/syscall.h>

/* Of linux/futex.h, which musl does not bring along. */
#define LG_FUTEX_WAIT 0
#define LG_FUTEX_WAKE 1

static inline long lg_call6(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

static inline long lg_call4(long number, long a, long b, long c, long d) {
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return number;
}

static inline long lg_call3(long number, long a, long b, long c) {
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
}

#endif
