/* What libffi's ffi_call ends in, on x86-64 (libffi's src/x86/ffi64.c): its own assembly returns from a stack that it has made of its caller's, and the rewriter
   leaves that object out. Here the frame is an ordinary one of variable size. As in libffi 3.3 and later, which its names tell. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define hidden __attribute__((visibility("hidden")))

/* The registers that the call begins with; the arguments on the stack follow. r10 is of no use: there are no closures. */
struct registers {
    unsigned long general[6];
    unsigned char vectors[8][16];
    unsigned long vectors_used, r10;
};

/* Those that a result may be in. */
struct results {
    unsigned long rax, rdx, xmm0, xmm1;
    unsigned char x87[2][16];
};

/* The low byte of the flags: the type of the result. Above bit 12 is the size of a structure. */
enum {
    VOID, UINT8, UINT16, UINT32, SINT8, SINT16, SINT32, INT64, XMM32, XMM64, X87, X87_2, XMM0_RAX, RAX_XMM0, XMM0_XMM1, RAX_RDX
};
#define SIZE_SHIFT 12

/* Calls `function`; `x87` values are taken off the register stack. */
hidden void __lg_ffi_call(const struct registers *, const void *arguments, size_t size, void (*function)(void), struct results *, int x87);

__asm__(
    "	.text\n"
    "	.globl __lg_ffi_call\n"
    "	.hidden __lg_ffi_call\n"
    "	.type __lg_ffi_call,@function\n"
    "__lg_ffi_call:\n"
    "	.cfi_startproc\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset rbp,-16\n"
    "	mov %rsp,%rbp\n"
    "	.cfi_def_cfa_register rbp\n"
    "	push %rbx\n"
    "	push %r12\n"
    "	push %r13\n"
    "	push %r14\n"
    "	.cfi_offset rbx,-24\n"
    "	.cfi_offset r12,-32\n"
    "	.cfi_offset r13,-40\n"
    "	.cfi_offset r14,-48\n"
    "	mov %rdi,%r14\n"
    "	mov %rcx,%r12\n"
    "	mov %r8,%rbx\n"
    "	mov %r9d,%r13d\n"
    "	lea 15(%rdx),%rax\n"
    "	and $-16,%rax\n"
    "	sub %rax,%rsp\n"
    "	mov %rdx,%rcx\n"
    "	shr $3,%rcx\n"
    "	mov %rsp,%rdi\n"
    "	rep movsq\n"
    "	cmpl $0,0xb0(%r14)\n"
    "	je 1f\n"
    "	movups 0x30(%r14),%xmm0\n"
    "	movups 0x40(%r14),%xmm1\n"
    "	movups 0x50(%r14),%xmm2\n"
    "	movups 0x60(%r14),%xmm3\n"
    "	movups 0x70(%r14),%xmm4\n"
    "	movups 0x80(%r14),%xmm5\n"
    "	movups 0x90(%r14),%xmm6\n"
    "	movups 0xa0(%r14),%xmm7\n"
    "1:	mov (%r14),%rdi\n"
    "	mov 0x08(%r14),%rsi\n"
    "	mov 0x10(%r14),%rdx\n"
    "	mov 0x18(%r14),%rcx\n"
    "	mov 0x20(%r14),%r8\n"
    "	mov 0x28(%r14),%r9\n"
    "	mov 0xb0(%r14),%eax\n"
    "	call *%r12\n"
    "	mov %rax,(%rbx)\n"
    "	mov %rdx,8(%rbx)\n"
    "	movq %xmm0,16(%rbx)\n"
    "	movq %xmm1,24(%rbx)\n"
    "	test %r13d,%r13d\n"
    "	je 2f\n"
    "	fstpt 32(%rbx)\n"
    "	dec %r13d\n"
    "	je 2f\n"
    "	fstpt 48(%rbx)\n"
    "2:	lea -32(%rbp),%rsp\n"
    "	pop %r14\n"
    "	pop %r13\n"
    "	pop %r12\n"
    "	pop %rbx\n"
    "	pop %rbp\n"
    "	.cfi_def_cfa rsp,8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    "	.size __lg_ffi_call,.-__lg_ffi_call\n");

hidden void ffi_call_unix64(
    const struct registers *registers, unsigned long size, unsigned flags, void *result, void (*function)(void)) {
    unsigned kind = flags & 0xff;
    struct results results;
    int x87 = kind == X87 ? 1 : kind == X87_2 ? 2 : 0;
    __lg_ffi_call(registers, registers + 1, size - sizeof *registers, function, &results, x87);
    unsigned long word;
    switch (kind) {
    case VOID: return;
    case UINT8: word = (unsigned char)results.rax; break;
    case UINT16: word = (unsigned short)results.rax; break;
    case UINT32: word = (unsigned)results.rax; break;
    case SINT8: word = (signed char)results.rax; break;
    case SINT16: word = (short)results.rax; break;
    case SINT32: word = (int)results.rax; break;
    case INT64: word = results.rax; break;
    case XMM32: memcpy(result, &results.xmm0, 4); return;
    case XMM64: word = results.xmm0; break;
    /* (Ten bytes: what lies behind them is the program's.) */
    case X87_2: memcpy((char *)result + 16, results.x87[1], 10); /* fall through */
    case X87: memcpy(result, results.x87[0], 10); return;
    case XMM0_RAX: case RAX_XMM0: case XMM0_XMM1: case RAX_RDX: {
        unsigned long words[2] = {
            kind == RAX_XMM0 || kind == RAX_RDX ? results.rax : results.xmm0,
            kind == RAX_XMM0 ? results.xmm0 : kind == XMM0_RAX ? results.rax : kind == RAX_RDX ? results.rdx : results.xmm1,
        };
        memcpy(result, words, flags >> SIZE_SHIFT);
        return;
    }
    default: abort();
    }
    memcpy(result, &word, sizeof word);
}

/* Closures are code that a program makes when it runs, which no domain can have: ffi_closure_alloc finds no memory for them. Their ends are never come to. */
static void none(void) {
    static const char message[] = "libffi: a domain makes no code when it runs, and has one calling convention\n";
    if (write(2, message, sizeof message - 1) < 0) {
        /* Then it goes without. */
    }
    abort();
}
#define NONE(name) hidden void name(void) __attribute__((alias("none")))
NONE(ffi_closure_unix64);
NONE(ffi_closure_unix64_sse);
NONE(ffi_go_closure_unix64);
NONE(ffi_go_closure_unix64_sse);
NONE(ffi_closure_unix64_alt);
NONE(ffi_closure_unix64_sse_alt);
NONE(ffi_call_win64);
NONE(ffi_closure_win64);
NONE(ffi_go_closure_win64);
NONE(ffi_closure_win64_alt);
hidden const char trampoline_code_table[1];
