long attack(void)
{
    long result;
    __asm__ volatile(".byte 0x0f, 0x05" : "=a"(result) : "a"(9999L) : "rcx", "r11", "memory");
    return result;
}
