/* What contexts of <ucontext.h> and those of Boost.Context share (libc/ucontext.S, libc/fcontext_jump.S). */
#ifndef LOCKGATE_CONTEXT_H
#define LOCKGATE_CONTEXT_H

#include "code-model.h"

#ifdef __ASSEMBLER__

/* The base of the slot that rsp lies in, low 32 bits. */
	.macro slot register,byte
	mov %esp,\register
	bswap \register
	movzbl \byte,\register
	bswap \register
	.endm

#else

#include <stddef.h>
#include <stdint.h>

#include "musl.h"

/* Asks the runtime (lockgate_abi::context). */
hidden long __lg_context(long wanted, unsigned long word, uintptr_t start, size_t size);

#endif

#endif
