/* What the attacks on files share: a look whether something can be read that the host did not grant. */
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
