#include <stdlib.h>
#include <string.h>

long attack(void)
{
    static const unsigned char code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x05, 0xc3 };
    void *heap = malloc(sizeof code);
    memcpy(heap, code, sizeof code);
    __asm__ volatile("" ::: "memory");
    return ((long (*)(void))heap)() + 1;
}
