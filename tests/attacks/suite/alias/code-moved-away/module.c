#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(long window)
{
    long places[] = {(long)attack & ~4095L, window + 0x10000, window + 0x20000};
    void *own = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        void *at = (void *)places[i];
        if (mremap(at, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED || mremap(at, 0, 4096, MREMAP_MAYMOVE) != MAP_FAILED)
            return 1;
        if (mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
            return 2;
        if (syscall(SYS_mremap, at, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, own) != -1)
            return 3;
        if (syscall(SYS_mremap, at, 4096, 4096, MREMAP_MAYMOVE | 4 /* DONTUNMAP */, own) != -1)
            return 4;
    }
    return 0;
}
