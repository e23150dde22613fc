/* The callee of `lockgate-bench ipc` as a module. */
#include "work.h"

/* An argument of one byte is a parameter. */
unsigned long byte(unsigned char value)
{
    return value;
}

unsigned long bytes(const unsigned char *argument, unsigned long size)
{
    return total(argument, size);
}
