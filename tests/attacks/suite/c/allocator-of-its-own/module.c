#include <stddef.h>

void *malloc(size_t size)
{
    return (void *)0x7fff00001230;
}

long attack(void)
{
    return 0;
}
