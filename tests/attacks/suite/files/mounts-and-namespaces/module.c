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

long attack(void)
{
    static const int calls[] = {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, 428 /* open_tree */, 429 /* move_mount */,
        430 /* fsopen */, 432 /* fsmount */, 442 /* mount_setattr */, SYS_swapon, SYS_quotactl, SYS_sethostname};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(calls[i], "/data", "/data", "bind", 4096L, 0L) != -1)
            return calls[i];
    return 0;
}
