#include <stdlib.h>
#define SECRET 0x5ec2e7c0ffee5ec2L
long plant(void)
{
    volatile long local[512];
    volatile long *heap = malloc(1 << 20);
    for (int i = 0; i < 512; i++) local[i] = heap[i] = SECRET;
    return local[7] != SECRET;
}
long attack(void)
{
    volatile long here = 0, *heap = malloc(1 << 20);
    for (long i = 0; i < (1 << 17); i++)
        if (heap[i] == SECRET)
            return 1;
    for (volatile long *at = &here; at > &here - 8192; at--)
        if (*at == SECRET)
            return 2;
    return 0;
}
