/* setjmp and longjmp in the code model (docs/code-model.md, "Functions that return twice"). Not rewritten: this is
   what the rewriter could not make of musl's, which reads and writes return addresses. The verifier judges it like
   all other code.

   jmp_buf, in 8-byte words: rbx rbp r12 r13 r14 r15, rsp after the return (control stack), landing.

   The landing lies in the data-stack image of setjmp's return slot, where the rewriter put it before the call.
   Behind that sigsetjmp has whether it has saved a mask, and the mask. Behind the jump its landing calls it once more, which brings that
   back: a signal that waited is handled there, and not above the frames that the jump is about to leave. */
#include "code-model.h"

/* rt_sigprocmask (asm/unistd_64.h); SIG_SETMASK. */
#define SIGPROCMASK 14
#define SETMASK 2
/* In the place of a landing (returns_twice.rs). */
#define JUMPED 1

	.macro save
	mov %rbx,%gs:(%edi)
	mov %rbp,%gs:8(%edi)
	mov %r12,%gs:16(%edi)
	mov %r13,%gs:24(%edi)
	mov %r14,%gs:32(%edi)
	mov %r15,%gs:40(%edi)
	lea 8(%rsp),%rdx
	mov %rdx,%gs:48(%edi)
	mov -LG_OFF(%rsp),%rdx
	mov %rdx,%gs:56(%edi)
	movq $0,-LG_OFF(%rsp)	/* a call without a landing does not find this one: its longjmp traps */
	.endm

	.text
	.globl setjmp, _setjmp, __setjmp
	.type setjmp,@function; .type _setjmp,@function; .type __setjmp,@function
setjmp:
_setjmp:
__setjmp:
	LG_FUNCTION_START
	endbr64
	save
	xor %eax,%eax
	ret
	.cfi_endproc
	.size setjmp,.-setjmp

	.globl sigsetjmp, __sigsetjmp
	.type sigsetjmp,@function; .type __sigsetjmp,@function
sigsetjmp:
__sigsetjmp:
	LG_FUNCTION_START
	endbr64
	cmpq $JUMPED,-LG_OFF(%rsp)
	je 2f
	save
	movslq %esi,%rsi
	mov %rsi,%gs:64(%edi)
	test %esi,%esi
	je 1f
	lea 72(%rdi),%rdx
	xor %edi,%edi
	xor %esi,%esi
	mov $8,%r10d
	mov $SIGPROCMASK,%eax	/* no new mask */
	call *%gs:LG_SYSCALL
1:	xor %eax,%eax
	ret
	/* rdi and eax are longjmp's. */
2:	movq $0,-LG_OFF(%rsp)
	cmpq $0,%gs:64(%edi)
	je 3f
	mov %eax,%r9d
	lea 72(%rdi),%rsi
	mov $SETMASK,%edi
	xor %edx,%edx
	mov $8,%r10d
	mov $SIGPROCMASK,%eax
	call *%gs:LG_SYSCALL
	mov %r9d,%eax
3:	ret
	.cfi_endproc
	.size sigsetjmp,.-sigsetjmp

	.globl longjmp, _longjmp, siglongjmp
	.type longjmp,@function; .type _longjmp,@function; .type siglongjmp,@function
longjmp:
_longjmp:
siglongjmp:
	LG_FUNCTION_START
	endbr64
	xor %eax,%eax
	cmp $1,%esi		/* longjmp(b, 0) returns 1 */
	adc %esi,%eax
	mov %gs:(%edi),%rbx
	mov %gs:8(%edi),%rbp
	mov %gs:16(%edi),%r12
	mov %gs:24(%edi),%r13
	mov %gs:32(%edi),%r14
	mov %gs:40(%edi),%r15
	mov %gs:56(%edi),%r10
	mov %gs:48(%edi),%r11
	call *%gs:LG_RESUME	/* the landing, in the frame that r11 lies in, which must be live */
	ud2
	.cfi_endproc
	.size longjmp,.-longjmp

	.section .note.GNU-stack,"",@progbits
