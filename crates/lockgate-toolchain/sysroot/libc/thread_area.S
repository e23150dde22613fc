/* int __set_thread_area(void *): stores the thread pointer where code finds it from rsp alone (docs/code-model.md,
   "Thread-local storage"). Not rewritten: musl's is a system call that sets the fs base, which is the host's. */
#include "code-model.h"

	.text
	.globl __set_thread_area
	.hidden __set_thread_area
	.type __set_thread_area,@function
__set_thread_area:
	LG_FUNCTION_START
	endbr64
	mov %esp,%eax
	bswap %eax
	movzbl %al,%eax
	bswap %eax		/* base of the control slot, low 32 bits */
	mov %rdi,%gs:LG_THREAD_POINTER_DISP(%eax)
	xor %eax,%eax
	ret
	.cfi_endproc
	.size __set_thread_area,.-__set_thread_area

	.section .note.GNU-stack,"",@progbits
