/* Boost.Context's functions in assembly, jump_fcontext and ontop_fcontext, with the contexts of the runtime (libc/ucontext.S): Boost's own set rsp,
   and the rewriter leaves them out. An fcontext_t is the address of a frame on the stack of the context that waits, as it is outside; that of
   a context that has not begun is what make_fcontext has made (fcontext.c). */
#include "context.h"

/* A frame. */
#define WORD 0
/* What is to be called on the stack that is gone to, before anything there goes on; or 0. */
#define ONTOP 8
#define X87 16
#define MXCSR 20
#define RBX 24
#define RBP 32
#define R12 40
#define R13 48
#define R14 56
#define R15 64
#define SIZE 72

	.macro save register,place
	mov %\register,\place-LG_OFF(%rsp)
	.cfi_offset \register,\place-SIZE-8
	.endm

	.text
	.globl jump_fcontext
	.type jump_fcontext,@function
jump_fcontext:
	LG_FUNCTION_START
	endbr64
	xor %edx,%edx
	jmp .Ljump
	.cfi_endproc
	.size jump_fcontext,.-jump_fcontext

	.globl ontop_fcontext
	.type ontop_fcontext,@function
ontop_fcontext:
	LG_FUNCTION_START
	endbr64
	/* To the frame at rdi, with the value in rsi. */
.Ljump:
	lea -SIZE(%rsp),%rsp
	.cfi_adjust_cfa_offset SIZE
	mov %rdx,ONTOP-LG_OFF(%rsp)
	fnstcw X87-LG_OFF(%rsp)
	stmxcsr MXCSR-LG_OFF(%rsp)
	save rbx,RBX
	save rbp,RBP
	save r12,R12
	save r13,R13
	save r14,R14
	save r15,R15
	lea -LG_OFF(%rsp),%r12
	mov %rdi,%r13
	mov %rsi,%r15
	mov %gs:WORD(%edi),%rsi
	slot %r14d,%r14b
	mov %gs:LG_THREAD_POINTER_DISP(%r14d),%r14
	mov $LG_CONTEXT_SWITCH,%edi
	mov $LG_CONTEXT,%eax
	call *%gs:LG_SYSCALL
	/* In the context that was wanted, which has waited here: r12, r13, r14 and r15 are those of the one that was left. */
	slot %ecx,%cl
	mov %r14,%gs:LG_THREAD_POINTER_DISP(%ecx)
	mov %rax,%gs:WORD(%r12d)
	mov %gs:ONTOP(%r12d),%r8
	mov %r12,%rdi
	mov %r15,%rsi
	fldcw X87-LG_OFF(%rsp)
	ldmxcsr MXCSR-LG_OFF(%rsp)
	mov RBX-LG_OFF(%rsp),%rbx
	mov RBP-LG_OFF(%rsp),%rbp
	mov R12-LG_OFF(%rsp),%r12
	mov R13-LG_OFF(%rsp),%r13
	mov R14-LG_OFF(%rsp),%r14
	mov R15-LG_OFF(%rsp),%r15
	lea SIZE(%rsp),%rsp
	.cfi_adjust_cfa_offset -SIZE
	.cfi_same_value rbx
	.cfi_same_value rbp
	.cfi_same_value r12
	.cfi_same_value r13
	.cfi_same_value r14
	.cfi_same_value r15
	mov %rdi,%rax
	mov %rsi,%rdx
	test %r8,%r8
	jne 1f
	ret
1:	mov %r8,%rdx
	jmp __lg_ontop
	.cfi_endproc
	.size ontop_fcontext,.-ontop_fcontext

/* Where contexts begin, with registers as those of the jump were. */
	.globl __lg_fcontext_begin
	.hidden __lg_fcontext_begin
	.type __lg_fcontext_begin,@function
__lg_fcontext_begin:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	slot %ecx,%cl
	mov %r14,%gs:LG_THREAD_POINTER_DISP(%ecx)
	mov %rax,%gs:WORD(%r12d)
	fldcw %gs:X87(%r13d)
	ldmxcsr %gs:MXCSR(%r13d)
	mov %r12,%rdi
	mov %r15,%rsi
	mov %r13,%rdx
	xor %ebp,%ebp
	lea -8(%rsp),%rsp
	call __lg_fcontext_main
	ud2
	.cfi_endproc
	.size __lg_fcontext_begin,.-__lg_fcontext_begin

	.section .note.GNU-stack,"",@progbits
