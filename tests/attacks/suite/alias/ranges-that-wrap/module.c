#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An address is its low half: one of the host's may name memory of ours, and nothing else. */
static int outside(long at, long window) { return at != -1 && (unsigned long)(at - window) >= 4UL << 30; }

long attack(long secret, long window)
{
    long starts[] = {window + 0xfffff000L, -4096L, window - 4096, 0, window + (4L << 30)};
    long lengths[] = {4096, 1L << 32, -4096L, 0x7ffffffffffff000L, -1L};
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
        for (unsigned j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            long at = starts[i], length = lengths[j];
            long mapped = syscall(SYS_mmap, at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
            if (mapped != -1 || !syscall(SYS_munmap, at, length) || !syscall(SYS_mprotect, at, length, PROT_READ))
                return 1;
            if (!syscall(SYS_madvise, at, length, MADV_DONTNEED) || syscall(SYS_mremap, at, length, 4096L, MREMAP_MAYMOVE) != -1)
                return 2;
        }
    for (unsigned j = 0; j < sizeof lengths / sizeof *lengths; j++) {
        long at = secret & ~4095L;
        if (outside(syscall(SYS_mmap, at, lengths[j], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L), window))
            return 3;
        syscall(SYS_mprotect, at, lengths[j], PROT_NONE);
        syscall(SYS_madvise, at, lengths[j], MADV_DONTNEED);
        if (outside(syscall(SYS_mremap, at, lengths[j], 8192L, MREMAP_MAYMOVE), window))
            return 4;
        syscall(SYS_munmap, at, lengths[j]);
    }
    return 0;
}
