long attack(void)
{
    __asm__ volatile("xor %%eax,%%eax; xor %%ecx,%%ecx; xor %%edx,%%edx; wrpkru" ::: "rax", "rcx", "rdx");
    return 0;
}
