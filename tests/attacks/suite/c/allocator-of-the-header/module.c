#include <stddef.h>

void *malloc(size_t size)
{
    return (void *)0x10000;
}

long attack(void)
{
    return 0;
}
