/* System calls that leave errno alone: some are made by a thread that has none yet. */
#ifndef LOCKGATE_CALL_H
#define LOCKGATE_CALL_H

#include <sys/syscall.h>

/* Of linux/futex.h, which musl does not bring along. */
#define LG_FUTEX_WAIT 0
#define LG_FUTEX_WAKE 1
#define LG_FUTEX_PRIVATE 128

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

/* What the runtime is asked for as a function is called: registers that functions do not keep are lost (docs/system-calls.md). */
static inline long lg_ask3(long number, long a, long b, long c) {
    __asm__ volatile("syscall"
                     : "+a"(number), "+D"(a), "+S"(b), "+d"(c)
                     :
                     : "rcx", "r8", "r9", "r10", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return number;
}

/* Waits while the word of one of libc's own locks has this value. The last argument, which the kernel does not look at, tells the runtime
   what is waited for: that whoever holds it is in a call, and gives it back before that returns (lockgate_abi::FUTEX_LOCK). */
#define LG_FUTEX_LOCK 0x6c6f636b

static inline void lg_wait_for_lock(volatile int *word, int value) {
    lg_call6(SYS_futex, (long)word, LG_FUTEX_WAIT, value, 0, 0, LG_FUTEX_LOCK);
}

/* The same for what only another thread of the module's ends that is inside, but gives no lock back (lockgate_abi::FUTEX_PEERS). */
#define LG_FUTEX_PEERS 0x70656572

#endif
