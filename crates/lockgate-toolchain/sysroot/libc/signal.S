/* Signals in the code model (docs/decisions/0080): where handlers return to, and jumps that bring the mask back. Not rewritten. The verifier
   judges it like all other code. */
#include "code-model.h"

/* rt_sigprocmask, rt_sigreturn (asm/unistd_64.h); SIG_SETMASK. */
#define SIGPROCMASK 14
#define SIGRETURN 15
#define SETMASK 2
/* Of jmp_buf (setjmp.S): whether there is a mask, and the mask. */
#define SAVED 64
#define MASK 72

	.text
/* The address of this is in each action that sigaction is given. A handler returns here, to a frame whose return word is nobody's. */
	.globl __restore_rt
	.type __restore_rt,@function
__restore_rt:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_undefined rip
	endbr64
	mov $SIGRETURN,%eax
	call *%gs:LG_SYSCALL
	ud2
	.cfi_endproc
	.size __restore_rt,.-__restore_rt

	.globl siglongjmp
	.type siglongjmp,@function
siglongjmp:
	LG_FUNCTION_START
	endbr64
	cmpq $0,%gs:SAVED(%edi)
	je 1f
	mov %rdi,%r8
	mov %esi,%r9d
	lea MASK(%rdi),%rsi
	mov $SETMASK,%edi
	xor %edx,%edx
	mov $8,%r10d
	mov $SIGPROCMASK,%eax
	call *%gs:LG_SYSCALL
	mov %r8,%rdi
	mov %r9d,%esi
1:	jmp longjmp
	.cfi_endproc
	.size siglongjmp,.-siglongjmp

	.section .note.GNU-stack,"",@progbits
