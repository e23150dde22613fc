#include <alloca.h>
long attack(long size)
{
    volatile char *there = alloca(size);
    there[0] = 1;
    return there[0];
}
