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
    static const char *const paths[] = {"/data/out", "/data/absolute", "/data/folder/secret.txt", "/data/folder/../outside/secret.txt", "/data/loop", "/data/proc/self/mem", "/data/root/etc/passwd"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (leaks(paths[i]) || !chdir(paths[i]))
            return i + 1;
    /* Another name of the link itself would be harmless, and is no way through it. */
    link("/data/out", "/data/mine");
    return 50 * !truncate("/data/out", 0) + 51 * leaks("/data/mine") + 52 * !rename("/data/secret.txt", "/data/folder/mine");
}
