/* Address 0 of every module: where ld sends a call of an undefined weak function. */
	.section .lockgate.zero,"ax",@progbits
	ud2

	.section .note.GNU-stack,"",@progbits
