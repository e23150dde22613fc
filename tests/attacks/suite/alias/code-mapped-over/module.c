#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(long window)
{
    long places[] = {(long)attack, window + 0x10000, window + 0x11000, window + 0x12000, window + 0x20000, window};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        for (int how = 0; how < 2; how++) {
            void *at = (void *)(places[i] & ~4095L);
            if (mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (how ? MAP_FIXED : MAP_FIXED_NOREPLACE), -1, 0) == at)
                return i + 1;
        }
    return 0;
}
