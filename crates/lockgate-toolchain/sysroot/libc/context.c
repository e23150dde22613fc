/* makecontext, and what a context begins and ends with (libc/ucontext.S). Its frames lie on a slot of the domain's stacks; of the
   program's uc_stack the size counts, and where it is: a context whose memory another one is given is over. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <ucontext.h>

#include "context.h"

/* Arguments in registers, and on the stack: any more are refused. */
#define FIRST 6
#define MORE 16

hidden void __lg_context_begin(void);
hidden void __lg_leave_context(ucontext_t *);
hidden int __lg_no_context(void);
hidden void __lg_context_main(ucontext_t *);

static const int places[FIRST] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};

/* swapcontext and setcontext, of what makecontext found no stack for. */
int __lg_no_context(void) {
    errno = ENOMEM;
    return -1;
}

void makecontext(ucontext_t *context, void (*function)(void), int count, ...) {
    greg_t *registers = context->uc_mcontext.gregs;
    uintptr_t start = (uintptr_t)context->uc_stack.ss_sp;
    size_t size = context->uc_stack.ss_size;
    int more = count > FIRST ? count - FIRST : 0;
    unsigned long *told = (unsigned long *)context; /* uc_flags, by either name */
    *told = -1UL;
    if (more > MORE || size < (size_t)more * sizeof(long)) return;
    long *rest = (long *)((start + size) & -sizeof(long)) - more;
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count; i++) {
        long argument = va_arg(arguments, long);
        if (i < FIRST) {
            registers[places[i]] = argument;
        } else {
            rest[i - FIRST] = argument;
        }
    }
    va_end(arguments);
    registers[REG_RBX] = (greg_t)context->uc_link;
    registers[REG_R12] = more;
    registers[REG_R13] = (greg_t)rest;
    registers[REG_R14] = (greg_t)function;
    registers[REG_RSP] = registers[REG_RIP] = 0;
    long word = __lg_context(LG_CONTEXT_CREATE, (unsigned long)__lg_context_begin, start, size);
    if (word < 0 && word > -4096) {
        errno = (int)-word;
        return;
    }
    *told = (unsigned long)word;
}

void __lg_context_main(ucontext_t *context) {
    const greg_t *registers = context->uc_mcontext.gregs;
    ucontext_t *link = (ucontext_t *)registers[REG_RBX];
    long a[FIRST], m[MORE] = {0};
    for (int i = 0; i < FIRST; i++) a[i] = registers[places[i]];
    const long *rest = (const long *)registers[REG_R13];
    for (int i = 0; i < registers[REG_R12] && i < MORE; i++) m[i] = rest[i];
    void (*function)(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                     long, long, long, long) = (void *)registers[REG_R14];
    /* Those that the function does not have do no harm. */
    function(a[0], a[1], a[2], a[3], a[4], a[5], m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11], m[12],
             m[13], m[14], m[15]);
    if (link) __lg_leave_context(link);
    for (;;) __lg_context(LG_CONTEXT_END, 0, 0, 0);
}
