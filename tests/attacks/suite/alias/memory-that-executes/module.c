#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many of the ways worked. */
long attack(void)
{
    long got = 0;
    for (int rights = PROT_EXEC; rights <= (PROT_READ | PROT_WRITE | PROT_EXEC); rights++)
        for (int flags = MAP_SHARED; flags <= MAP_PRIVATE; flags++)
            got += mmap(0, 4096, rights, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    return got;
}
