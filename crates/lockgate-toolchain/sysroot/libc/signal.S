/* Signals in the code model (docs/decisions/0080): where handlers return to. Not rewritten. The verifier judges it like all other code. */
#include "code-model.h"

/* rt_sigreturn (asm/unistd_64.h). */
#define SIGRETURN 15

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

	.section .note.GNU-stack,"",@progbits
