/* getcontext, setcontext, swapcontext in the code model (docs/code-model.md, "Contexts"). Not rewritten: musl has none, and the C
   library of other systems reads and writes return addresses. The verifier judges it like all other code.

   Where a context goes on is the runtime's to know. A ucontext_t has registers, control words, and in uc_flags the word that
   the runtime gave for it. RSP is an address on the data stack. RIP is getcontext's landing; 0 where swapcontext has left: control goes on behind
   the switch there, which is known by RSP.

   A switch leaves the mask of the domain's own signals as it is: to save it would take a system call each time. */
#include "context.h"

/* Offsets in musl's ucontext_t. */
#define WORD 0
#define R12 72
#define R13 80
#define R14 88
#define R15 96
#define RBP 120
#define RBX 128
#define RSP 160
#define RIP 168
#define X87 424
#define MXCSR 448
/* What makecontext writes that has found no stack. */
#define NONE -1

	.text

/* Registers and control words, to the ucontext_t at edi. */
	.macro save
	mov %rbx,%gs:RBX(%edi)
	mov %rbp,%gs:RBP(%edi)
	mov %r12,%gs:R12(%edi)
	mov %r13,%gs:R13(%edi)
	mov %r14,%gs:R14(%edi)
	mov %r15,%gs:R15(%edi)
	fnstcw %gs:X87(%edi)
	stmxcsr %gs:MXCSR(%edi)
	.endm

	.globl getcontext
	.type getcontext,@function
getcontext:
	LG_FUNCTION_START
	endbr64
	save
	lea 8-LG_OFF(%rsp),%rax
	mov %rax,%gs:RSP(%edi)
	mov -LG_OFF(%rsp),%rax
	mov %rax,%gs:RIP(%edi)
	movq $0,-LG_OFF(%rsp)	/* as in setjmp */
	mov %rdi,%rbx
	mov $LG_CONTEXT_SELF,%edi
	mov $LG_CONTEXT,%eax
	call *%gs:LG_SYSCALL
	mov %rax,%gs:WORD(%ebx)
	mov %gs:RBX(%ebx),%rbx
	xor %eax,%eax
	ret
	.cfi_endproc
	.size getcontext,.-getcontext

	.globl swapcontext
	.type swapcontext,@function
swapcontext:
	LG_FUNCTION_START
	endbr64
	cmpq $NONE,%gs:WORD(%esi)
	je 2f
	xor %eax,%eax
	cmp %rdi,%rsi
	je 1f
	save
	lea -LG_OFF(%rsp),%rax
	mov %rax,%gs:RSP(%edi)
	movq $0,%gs:RIP(%edi)
	mov %rdi,%r12
	mov %rsi,%r13
	mov $LG_CONTEXT_SWITCH,%edi
	jmp .Lswitch
1:	ret
2:	jmp __lg_no_context
	.cfi_endproc
	.size swapcontext,.-swapcontext

	.globl setcontext
	.type setcontext,@function
setcontext:
	LG_FUNCTION_START
	endbr64
	cmpq $NONE,%gs:WORD(%edi)
	je 2f
	mov %rdi,%r13
	xor %r12d,%r12d
	mov $LG_CONTEXT_SWITCH,%edi
	/* To the ucontext_t at r13; what is left is that at r12, if there is any. */
.Lswitch:
	mov %gs:WORD(%r13d),%rsi
	slot %r14d,%r14b
	mov %gs:LG_THREAD_POINTER_DISP(%r14d),%r14
	mov $LG_CONTEXT,%eax
	call *%gs:LG_SYSCALL
	/* In the context that was wanted, at its own last switch; or in this one, if that was wanted. */
	slot %ecx,%cl
	mov %r14,%gs:LG_THREAD_POINTER_DISP(%ecx)
	test %r12,%r12
	je 1f
	mov %rax,%gs:WORD(%r12d)
1:	mov %r13,%r10
	mov %gs:RBX(%r10d),%rbx
	mov %gs:RBP(%r10d),%rbp
	mov %gs:R12(%r10d),%r12
	mov %gs:R13(%r10d),%r13
	mov %gs:R14(%r10d),%r14
	mov %gs:R15(%r10d),%r15
	fldcw %gs:X87(%r10d)
	ldmxcsr %gs:MXCSR(%r10d)
	mov %gs:RSP(%r10d),%r11
	mov %gs:RIP(%r10d),%r10
	lea -LG_OFF(%rsp),%rcx
	cmp %rcx,%r11
	jne 3f
	xor %eax,%eax
	ret
2:	jmp __lg_no_context
3:	xor %eax,%eax
	call *%gs:LG_RESUME	/* as longjmp */
	ud2
	.cfi_endproc
	.size setcontext,.-setcontext

/* The same, from a context that is over. */
	.globl __lg_leave_context
	.hidden __lg_leave_context
	.type __lg_leave_context,@function
__lg_leave_context:
	LG_FUNCTION_START
	endbr64
	mov %rdi,%r13
	xor %r12d,%r12d
	mov $LG_CONTEXT_LEAVE,%edi
	jmp .Lswitch
	.cfi_endproc
	.size __lg_leave_context,.-__lg_leave_context

/* Where contexts begin, with registers as their first switch had them. */
	.globl __lg_context_begin
	.hidden __lg_context_begin
	.type __lg_context_begin,@function
__lg_context_begin:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	slot %ecx,%cl
	mov %r14,%gs:LG_THREAD_POINTER_DISP(%ecx)
	test %r12,%r12
	je 1f
	mov %rax,%gs:WORD(%r12d)
1:	fldcw %gs:X87(%r13d)
	ldmxcsr %gs:MXCSR(%r13d)
	mov %r13,%rdi
	xor %ebp,%ebp
	lea -8(%rsp),%rsp
	call __lg_context_main
	ud2
	.cfi_endproc
	.size __lg_context_begin,.-__lg_context_begin

/* What makecontext asks of the runtime. */
	.globl __lg_context
	.hidden __lg_context
	.type __lg_context,@function
__lg_context:
	LG_FUNCTION_START
	endbr64
	mov $LG_CONTEXT,%eax
	call *%gs:LG_SYSCALL
	ret
	.cfi_endproc
	.size __lg_context,.-__lg_context

	.section .note.GNU-stack,"",@progbits
