#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

static long victim(long x)
{
    return x * 3 + 1;
}

long attack(void)
{
    long (*pointer)(long) = victim;
    OPAQUE(pointer);
    pointer = (long (*)(long))((char *)pointer + 5);
    return pointer(1) + 1;
}
