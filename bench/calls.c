/* Procedures for `lockgate-bench calls`: as little work as possible behind each. */

/* Returns at once. */
long null_call(long x)
{
    return x;
}

/* The last of its arguments: beyond the sixth, on the stack. */
#define A(n) long a##n
long arguments_0(void) { return 0; }
long arguments_1(A(1)) { return a1; }
long arguments_2(A(1), A(2)) { return a2; }
long arguments_3(A(1), A(2), A(3)) { return a3; }
long arguments_4(A(1), A(2), A(3), A(4)) { return a4; }
long arguments_5(A(1), A(2), A(3), A(4), A(5)) { return a5; }
long arguments_6(A(1), A(2), A(3), A(4), A(5), A(6)) { return a6; }
long arguments_7(A(1), A(2), A(3), A(4), A(5), A(6), A(7)) { return a7; }
long arguments_8(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8)) { return a8; }
long arguments_9(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9)) { return a9; }
long arguments_10(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10)) { return a10; }
long arguments_11(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10), A(11)) { return a11; }
long arguments_12(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10), A(11), A(12)) { return a12; }

/* Calls back once. */
long call_back(long (*back)(long), long x)
{
    return back(x);
}

/* Calls another domain as often as asked. */
long call_many(long (*f)(long), long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += f(i);
    return sum;
}

#include <setjmp.h>
static jmp_buf place;
static __attribute__((noinline)) void leave(long depth)
{
    if (depth)
        leave(depth - 1);
    else
        longjmp(place, 1);
    __asm__ volatile("");
}

/* Leaves `depth` functions by a jump, n times: one setjmp for all. */
long jump_many(long depth, long n)
{
    volatile long left = n;
    setjmp(place);
    if (left-- > 0)
        leave(depth - 1);
    return left;
}

/* As interpreters whose programs throw all the time: each round sets its own landing, and something three functions deeper jumps
 * there. */
long throw_many(long n)
{
    for (volatile long left = n; left > 0; left--)
        if (!setjmp(place))
            leave(2);
    return 0;
}

/* Writes to address 0. */
void null_write(void)
{
    int *nothing = 0;
    __asm__("" : "+r"(nothing));
    *(volatile int *)nothing = 1;
}

#ifdef FULL_XSTATE
/* Never called: whoever may call it can change all of the processor's state, so that proxies must look after all of it. */
__attribute__((noinline)) void full_xstate(const void *bytes, unsigned mxcsr)
{
    /* It asks the processor: else it were not loaded where there is no AVX-512. */
    unsigned leaf = 0;
    __asm__ volatile("cpuid" : "+a"(leaf) : : "ebx", "ecx", "edx");
    __asm__ volatile("fldpi; fstp %%st(0); ldmxcsr %1; vmovdqu64 (%0), %%zmm17; kmovq %%rax, %%k1" : : "r"(bytes), "m"(mxcsr));
}

/* Might. */
long full_xstate_call(long x)
{
    if (__builtin_expect(x == 0, 0))
        full_xstate(&x, 0x1f80);
    return x;
}
#endif
