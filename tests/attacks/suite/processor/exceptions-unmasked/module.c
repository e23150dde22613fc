long attack(void)
{
    unsigned mxcsr = 0x1f80 & ~0x1f80;
    unsigned short control = 0x37f & ~0x3f;
    double zero = 0, one = 1;
    __asm__ volatile("fninit\n\tfldl %2\n\tfdivl %3\n\tfldcw %1\n\tldmxcsr %0" : : "m"(mxcsr), "m"(control), "m"(one), "m"(zero) : "st");
    return 0;
}
