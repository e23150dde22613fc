#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
/* 1 if the path leads to something that the host did not grant. */
static int leaks_at(int folder, const char *path, int how)
{
    char text[16] = {0};
    int file = openat(folder, path, how);
    if (file < 0)
        return 0;
    long got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 && strncmp(text, "granted", 7);
}
__attribute__((unused)) static int leaks(const char *path) { return leaks_at(AT_FDCWD, path, O_RDONLY); }

#include <sys/sysmacros.h>
long attack(void)
{
    static const int kinds[] = {S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK};
    for (int i = 0; i < 4; i++)
        if (!mknod("/data/mine", kinds[i] | 0666, makedev(1, 1)) || !syscall(SYS_mknodat, AT_FDCWD, "/data/mine", kinds[i] | 0666, makedev(1, 1)))
            return i + 1;
    int file = open("/data/mine", O_CREAT | O_WRONLY, 06777);
    struct stat about;
    if (file >= 0 && !fstat(file, &about) && (about.st_mode & 07000))
        return 5;
    chmod("/data/mine", 06777);
    fchmod(file, 07777);
    if (!stat("/data/mine", &about) && (about.st_mode & 07000))
        return 6;
    return open("/data/pipe", O_RDONLY | O_NONBLOCK) >= 0 || !chown("/data/mine", 0, 0) || syscall(SYS_setxattr, "/data/mine", "user.x", "y", 1L, 0L) == 0;
}
