#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <sys/mman.h>
static char *volatile page;
long attack(void)
{
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open("/data/secret.txt", O_RDONLY);
    for (int i = 0; i < 20000; i++) {
        pread(file, page, 4096, 0);
        syscall(SYS_clock_gettime, 0L, page);
        syscall(SYS_getcwd, page, 4096L);
        syscall(SYS_getrandom, page, 256L, 0L);
        access(page, R_OK);
    }
    return 0;
}
long helper(void)
{
    if (!page)
        return 0;
    mprotect(page, 4096, PROT_NONE);
    munmap(page, 4096);
    mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return 0;
}
