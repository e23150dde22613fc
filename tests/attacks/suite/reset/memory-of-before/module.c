#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define SECRET 0x5ec2e7c0ffee5ec2L
static long data = 1, zero[4096];
static long *kept;
long plant(void)
{
    data = zero[77] = SECRET;
    kept = malloc(1 << 20);
    for (long i = 0; i < (1 << 17); i++) kept[i] = SECRET;
    long *mapped = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < (1 << 17); i++) mapped[i] = SECRET;
    sbrk(1 << 16);
    return 0;
}
long attack(void)
{
    if (data != 1 || zero[77] || kept)
        return 1;
    long *again = malloc(1 << 20), *mapped = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < (1 << 17); i++)
        if (again[i] == SECRET || mapped[i] == SECRET)
            return 2;
    return 0;
}
