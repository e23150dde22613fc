/* Procedures for `lockgate bench calls`: as little work as possible behind each. */

/* Returns at once. */
long null_call(long x)
{
    return x;
}

/* Calls back once. */
long call_back(long (*back)(long), long x)
{
    return back(x);
}

/* Writes to address 0. */
void null_write(void)
{
    int *nothing = 0;
    __asm__("" : "+r"(nothing));
    *(volatile int *)nothing = 1;
}

#ifdef EVERY_STATE
/* Never called: makes the module one that can change all of the processor's state, so that its proxies must look after
 * all of it. */
void every_state(const void *bytes, unsigned mxcsr)
{
    __asm__ volatile("fldpi; fstp %%st(0); ldmxcsr %1; vmovdqu64 (%0), %%zmm17; kmovq %%rax, %%k1" : : "r"(bytes), "m"(mxcsr));
}
#endif
