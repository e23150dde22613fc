#include <alloca.h>
long attack(long size)
{
    volatile char *far = alloca(size);
    far[0] = 1;
    return far[0];
}
