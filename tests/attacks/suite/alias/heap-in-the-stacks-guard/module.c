#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(long window)
{
    const long stacks = window + 0xc1000000L, slot = 16 << 20;
    for (long at = stacks - 4096; at < stacks + 2 * slot; at += 0x10000) {
        if (mmap((void *)at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)at)
            return 1;
        if (mmap((void *)at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0) == (void *)at)
            return 2;
        if (!mprotect((void *)at, 4096, PROT_READ | PROT_WRITE))
            return 3;
    }
    return syscall(SYS_brk, stacks + slot) > stacks;
}
