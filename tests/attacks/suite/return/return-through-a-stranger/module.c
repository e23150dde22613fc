#define MARK 0x5ec2e7c0ffee5ec2L
long deep(long n) { volatile long own = MARK; return n ? deep(n - 1) + own : 0; }
long plant(void) { return deep(100); }
/* Reads below its frame on the data stack, which is as empty as the control stack: nothing of before the reset. */
long attack(void)
{
    volatile long here = 0;
    for (volatile long *at = &here - 64; at > &here - 8192; at--)
        if (*at == MARK)
            return 1;
    return 0;
}
