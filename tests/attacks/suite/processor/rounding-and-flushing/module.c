long attack(void)
{
    unsigned mxcsr = 0xffc0;
    unsigned short control = 0x0c3f;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(control));
    return 0;
}
