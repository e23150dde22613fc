#include "granted.h"

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
