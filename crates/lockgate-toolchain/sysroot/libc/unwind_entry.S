/* Where the unwinder (unwind.c) begins and ends, in the code model: its functions need the registers that their caller had, and
   it goes to landing pads by `resume` (docs/code-model.md, "Functions that return twice"). */
#include "code-model.h"

	.text

/* A function of the unwinder's interface: puts the callee-saved registers down (struct lg_kept of frames.h), and hands their
   address to the one in C. */
	.macro begins name,to,register
	.globl \name
	.type \name,@function
\name:
	LG_FUNCTION_START
	endbr64
	lea -56(%rsp),%rsp
	.cfi_def_cfa_offset 64-LG_OFF
	mov %rbx,-LG_OFF(%rsp)
	mov %rbp,8-LG_OFF(%rsp)
	mov %r12,16-LG_OFF(%rsp)
	mov %r13,24-LG_OFF(%rsp)
	mov %r14,32-LG_OFF(%rsp)
	mov %r15,40-LG_OFF(%rsp)
	lea -LG_OFF(%rsp),\register
	call \to
	lea 56(%rsp),%rsp
	.cfi_def_cfa_offset 8-LG_OFF
	ret
	.cfi_endproc
	.size \name,.-\name
	.endm

	begins _Unwind_RaiseException,__lg_raise,%rsi
	begins _Unwind_Resume,__lg_resume_unwinding,%rsi
	begins _Unwind_Resume_or_Rethrow,__lg_rethrow,%rsi
	begins _Unwind_ForcedUnwind,__lg_force_unwinding,%rcx
	begins _Unwind_Backtrace,__lg_trace,%rdx

/* __lg_land(registers, landing pad, rsp): registers by DWARF's numbers. */
	.globl __lg_land
	.hidden __lg_land
	.type __lg_land,@function
__lg_land:
	LG_FUNCTION_START
	endbr64
	mov %rsi,%r10
	mov %rdx,%r11
	mov %gs:(%edi),%rax
	mov %gs:8(%edi),%rdx
	mov %gs:24(%edi),%rbx
	mov %gs:48(%edi),%rbp
	mov %gs:96(%edi),%r12
	mov %gs:104(%edi),%r13
	mov %gs:112(%edi),%r14
	mov %gs:120(%edi),%r15
	call *%gs:LG_RESUME
	ud2
	.cfi_endproc
	.size __lg_land,.-__lg_land

	.section .note.GNU-stack,"",@progbits
