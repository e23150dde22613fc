#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const long constant = 7;
long attack(long window)
{
    long places[] = {(long)attack, (long)&constant, window + 0x10000, window + 0x11000, window + 0x12000, window + 0x20000};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        long page = places[i] & ~4095L;
        for (int rights = PROT_NONE; rights <= (PROT_READ | PROT_WRITE); rights++)
            if (!mprotect((void *)page, 4096, rights))
                return i + 1;
    }
    return 0;
}
