__attribute__((noinline)) static long smash(long with)
{
    volatile long *at = __builtin_frame_address(0);
    for (int i = -8; i < 256; i++)
        at[i] = with;
    return 7;
}
long attack(long host)
{
    volatile long guard[400];
    guard[399] = 1;
    smash(host);
    __asm__ volatile("" ::: "memory");
    return 0;
}
