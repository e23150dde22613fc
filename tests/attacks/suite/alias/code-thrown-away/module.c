#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(long window)
{
    long local, places[] = {(long)attack, window + 0x10000, window + 0x11000, window + 0x20000, (long)&local, window + 0x100000000L};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        void *at = (void *)(places[i] & ~4095L);
        if (!munmap(at, 4096) || !madvise(at, 4096, MADV_DONTNEED) || !madvise(at, 4096, MADV_FREE))
            return i + 1;
    }
    return 0;
}
