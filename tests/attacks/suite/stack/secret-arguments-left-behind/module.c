static volatile long sink;
__attribute__((noinline)) static void keep(volatile long *at, long secret) { for (int i = 0; i < 512; i++) at[i] = secret; sink = at[0]; }
long plant(long a, long b, long c, long d, long e, long f) { volatile long frame[512]; keep(frame, a); return b + c + d + e + f; }
long attack(void)
{
    volatile long here = 0;
    for (volatile long *at = &here - 16; at > &here - 4096; at--)
        if ((unsigned long)*at == 0x5ec2e7c0ffee5ec2UL)
            return 1;
    return 0;
}
