#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
long attack(void)
{
    static const long sizes[] = {0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, (long)0x8000000000000000, -1};
    static char room[4096];
    int file = open("/data/secret.txt", O_RDONLY);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        long n = sizes[i];
        struct iovec twice[2] = {{room, n}, {room, n}};
        if (syscall(SYS_read, file, room + 4000, n) > 96 || syscall(SYS_pread64, file, room, 16L, n) > 0)
            return 1;
        if (syscall(SYS_readv, file, twice, n) > 0 || syscall(SYS_poll, room, n, 0L) > 0 || syscall(SYS_getdents64, file, room, n) > 0)
            return 2;
        if (syscall(SYS_getrandom, room, n, 0L) > 4096 || syscall(SYS_getcwd, room, n) > 4096 || syscall(SYS_mmap, 0L, n, 3L, 0x22L, -1L, 0L) != -1)
            return 3;
        syscall(SYS_readv, file, twice, 2L);
        lseek(file, 0, SEEK_SET);
    }
    return 0;
}
