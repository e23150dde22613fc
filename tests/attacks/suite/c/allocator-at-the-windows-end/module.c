#include <stddef.h>

void *malloc(size_t size)
{
    return (void *)0xfffffff0;
}

long attack(void)
{
    return 0;
}
