#include "state.h"
#include <stdio.h>

#define ORDINARY (0x8d5 | 0x202) /* arithmetic flags, interrupts enabled, and the bit that is always one */
#define SET_BY_RESULTS 0x3f      /* of MXCSR */

typedef unsigned long word;
static const char *const names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
static const word known[] = {0x1b1b1b1b, 0x1c1c1c1c, 0x1d1d1d1d, 0x1e1e1e1e, 0x1f1f1f1f, 0x20202020};

struct left {
    word registers[6], flags;
    unsigned mxcsr;
    unsigned short control;
    long value;
};
void watched_call(lg_code function, const word *words, struct left *left);
__asm__(".text\n.globl watched_call,rude,rude_with_the_x87\n.hidden watched_call\n"
        ".type watched_call,@function\nwatched_call:\n\t"
        "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\tpush %rdx\n\t"
        "mov %rdi,%rax\n\tmov (%rsi),%rdi\n\tmov 16(%rsi),%rdx\n\tmov 24(%rsi),%rcx\n\tmov 32(%rsi),%r8\n\tmov 40(%rsi),%r9\n\tmov 8(%rsi),%rsi\n\t"
        "mov $0x1b1b1b1b,%ebx\n\tmov $0x1c1c1c1c,%ebp\n\tmov $0x1d1d1d1d,%r12d\n\tmov $0x1e1e1e1e,%r13d\n\tmov $0x1f1f1f1f,%r14d\n\t"
        "mov $0x20202020,%r15d\n\tcall *%rax\n\t"
        "mov (%rsp),%rdx\n\tmov %rax,64(%rdx)\n\tpushfq\n\tpop %rax\n\t"
        "mov %rbx,(%rdx)\n\tmov %rbp,8(%rdx)\n\tmov %r12,16(%rdx)\n\tmov %r13,24(%rdx)\n\tmov %r14,32(%rdx)\n\tmov %r15,40(%rdx)\n\t"
        "mov %rax,48(%rdx)\n\tstmxcsr 56(%rdx)\n\tfnstcw 60(%rdx)\n\tcld\n\t"
        "pop %rdx\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n.size watched_call,.-watched_call\n"
        ".type rude,@function\nrude:\n\txor %ebx,%ebx\n\tret\n.size rude,.-rude\n"
        ".type rude_with_the_x87,@function\nrude_with_the_x87:\n\tfld1\n\tret\n.size rude_with_the_x87,.-rude_with_the_x87\n");

/* 1 + ... + 8 with all registers of the x87. */
static double x87_sum(void) {
    static const double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
    double sum;
    __asm__ volatile("fldl (%1)\n\tfldl 8(%1)\n\tfldl 16(%1)\n\tfldl 24(%1)\n\tfldl 32(%1)\n\tfldl 40(%1)\n\tfldl 48(%1)\n\tfldl 56(%1)\n\t"
                     "faddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfstpl %0"
                     : "=m"(sum)
                     : "r"(numbers)
                     : "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "memory");
    return sum;
}

const char *changed_by(lg_code function, const word *words, long *value) {
    static char text[64];
    struct left left;
    unsigned mxcsr;
    unsigned short control;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control));
    watched_call(function, words, &left);
    *value = left.value;
    for (int i = 0; i < 6; i++)
        if (left.registers[i] != known[i])
            return snprintf(text, sizeof text, "%s of the host was changed: %#lx", names[i], left.registers[i]), text;
    if (left.flags & ~(word)ORDINARY)
        return snprintf(text, sizeof text, "flags of the host were changed: %#lx", left.flags), text;
    if ((left.mxcsr ^ mxcsr) & ~SET_BY_RESULTS)
        return snprintf(text, sizeof text, "MXCSR of the host was changed: %#x", left.mxcsr), text;
    if (left.control != control)
        return snprintf(text, sizeof text, "the host's x87 control word was changed: %#x", left.control), text;
    return x87_sum() != 36 ? "x87 registers of the host are in use" : NULL;
}
