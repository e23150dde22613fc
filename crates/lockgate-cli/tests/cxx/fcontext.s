# What Boost.Context has in assembly, in other words: outside, the program uses these; in a module the sysroot's stand in their place, known by
# the names. An fcontext_t is a stack with the control words, the callee-saved registers, and where to go.
	.text
	.globl jump_fcontext
	.type jump_fcontext,@function
jump_fcontext:
	lea	1f(%rip),%rdx
	jmp	2f
1:	ret
	.size jump_fcontext,.-jump_fcontext

	.globl ontop_fcontext
	.type ontop_fcontext,@function
ontop_fcontext:
2:	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$8,%rsp
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	mov	%rsp,%rax
	mov	%rdi,%rsp
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	add	$8,%rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	# A result of the jump, and the arguments of a function that runs on top.
	mov	%rax,%rdi
	mov	%rdx,%rcx
	mov	%rsi,%rdx
	jmp	*%rcx
	.size ontop_fcontext,.-ontop_fcontext

	.globl make_fcontext
	.type make_fcontext,@function
make_fcontext:
	mov	%rdi,%rax
	and	$-16,%rax
	sub	$64,%rax
	stmxcsr	(%rax)
	fnstcw	4(%rax)
	mov	%rdx,40(%rax)
	lea	3f(%rip),%rcx
	mov	%rcx,56(%rax)
	ret
3:	mov	%rax,%rdi
	mov	%rdx,%rsi
	call	*%rbx
	hlt
	.size make_fcontext,.-make_fcontext
	.section .note.GNU-stack,"",@progbits
