/* Tries to have a return take a word that the kernel has saved: registers of a handler's frame, which all have the target's value, and frames of all
 * depths that come to lie over what is left of it. */
#include <alloca.h>

void unprotect(void);
#define FAR __attribute__((noinline, noclone))
#define EVERYWHERE                                                                                                                        \
    "mov %rdi,%rax\n mov %rdi,%rbx\n mov %rdi,%rbp\n mov %rdi,%rdx\n mov %rdi,%rsi\n mov %rdi,%r8\n mov %rdi,%r9\n"                      \
    "mov %rdi,%r10\n mov %rdi,%r11\n mov %rdi,%r12\n mov %rdi,%r13\n mov %rdi,%r14\n mov %rdi,%r15\n"
#define SAVE "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
#define LOAD "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
__asm__(".text\n.globl turn\n.type turn,@function\nturn:" SAVE "mov %rsi,%rcx\n" EVERYWHERE "1: pause\n dec %rcx\n jnz 1b\n" LOAD ".size turn,.-turn\n");
__asm__(".globl trap\n.type trap,@function\ntrap:" SAVE "mov %rsi,%rcx\n" EVERYWHERE "1: int3\n dec %rcx\n jnz 1b\n" LOAD ".size trap,.-trap\n");
__asm__(".globl split\n.type split,@function\nsplit:" SAVE EVERYWHERE "xor %ecx,%ecx\n xor %edx,%edx\n div %ecx\n" LOAD ".size split,.-split\n");
void turn(long target, long turns);
void trap(long target, long turns);
void split(long target);

FAR static long leaf(long x) {
    __asm__ volatile("" : "+r"(x));
    return x;
}
FAR static long computed(long depth) {
    volatile char *room = alloca(depth);
    return leaf(room != 0) + 0 * depth;
}
#define DEEP(n)                                          \
    FAR static long deep##n(void) {                      \
        volatile char room[n];                           \
        __asm__ volatile("" : : "r"(room));              \
        long right = leaf(1);                            \
        __asm__ volatile("" : "+r"(right) : "r"(room));  \
        return right;                                    \
    }
DEEP(64) DEEP(256) DEEP(512) DEEP(768) DEEP(1024) DEEP(1536) DEEP(2048) DEEP(3072)

/* One for each frame. */
FAR long fall(long unused) {
    (void)unused;
    long right = deep64() + deep256() + deep512() + deep768() + deep1024() + deep1536() + deep2048() + deep3072();
    for (long depth = 8; depth <= 8192; depth += 8)
        right += computed(depth);
    return right;
}
long spin(long target) {
    unprotect();
    turn(target, 1 << 16);
    return fall(0);
}
long stop(long target) {
    unprotect();
    trap(target, 100);
    return fall(0);
}
long divide(long target) {
    unprotect();
    split(target);
    return 0;
}
long crash(long at) {
    unprotect();
    return *(volatile long *)at;
}
