#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdlib.h>
static long got;
static void ask(long size)
{
    char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return;
    munmap(at, size);
    munmap(at, size);
    munmap(at - 4096, size + 8192);
    at = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *more = mremap(at, size, 2 * size, MREMAP_MAYMOVE);
    at = more == MAP_FAILED ? at : more;
    got += more == MAP_FAILED ? size : 2 * size;
    mprotect(at, size, PROT_READ | PROT_WRITE);
    for (long i = 0; i < size; i += 4096)
        at[i] = 1;
}
/* The limit is 64 MiB. */
long attack(void)
{
    for (long size = 32 << 20; size >= 4096; size /= 2)
        for (int i = 0; i < 100; i++)
            ask(size);
    char *end = sbrk(0);
    while (!brk(end + 4096))
        end += 4096, got += 4096;
    return got > 64 << 20;
}
