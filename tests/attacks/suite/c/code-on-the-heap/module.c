#include <stdlib.h>

long attack(void)
{
    static const volatile unsigned char code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x05, 0xc3 };
    volatile unsigned char *heap = malloc(sizeof code);
    for (unsigned i = 0; i < sizeof code; i++)
        heap[i] = code[i];
    return ((long (*)(void))heap)() + 1;
}
