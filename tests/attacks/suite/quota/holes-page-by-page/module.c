#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(void)
{
    const long size = 56 << 20;
    char *heap = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long at = 0; at < size; at += 8192)
        munmap(heap + at, 4096);
    return 0;
}
