#include "granted.h"

#include <sys/mman.h>
#include <sys/time.h>
long attack(void)
{
    struct timespec times[2] = {{1, 0}, {1, 0}};
    int file = open("/fixed/secret.txt", O_RDONLY | O_TRUNC);
    int again = open("/fixed/secret.txt", O_RDONLY);
    void *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
    return file >= 0 || shared != MAP_FAILED || open("/fixed/secret.txt", O_RDWR) >= 0 || open("/fixed/new", O_CREAT | O_WRONLY, 0600) >= 0 || !unlink("/fixed/secret.txt")
        || !rename("/fixed/secret.txt", "/data/mine") || !rename("/data/secret.txt", "/fixed/mine") || !link("/fixed/secret.txt", "/data/mine") || !truncate("/fixed/secret.txt", 0)
        || !ftruncate(again, 0) || write(again, "x", 1) > 0 || pwrite(again, "x", 1, 0) > 0 || !chmod("/fixed/secret.txt", 0777) || !fchmod(again, 0777)
        || !utimensat(AT_FDCWD, "/fixed/secret.txt", times, 0) || !futimens(again, times) || !syscall(SYS_fallocate, again, 0L, 0L, 4096L) || fcntl(again, F_SETFL, O_RDWR | O_APPEND) > 0
        || !mkdir("/fixed/folder", 0700) || syscall(SYS_copy_file_range, again, 0L, again, 0L, 1L, 0L) > 0;
}
