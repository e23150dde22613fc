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

long attack(long window)
{
    static char name[70000];
    memset(name, 'a', sizeof name - 1);
    memcpy(name, "/data/", 6);
    char *end = (char *)window + 0xfffff000L;
    return open(name, O_CREAT | O_RDWR, 0600) >= 0 || open(end, O_RDONLY) >= 0 || !chdir(name) || open("/data/../outside/secret.txt\0/data", O_RDONLY) >= 0
        || !rename("/data/secret.txt", name) || open((char *)-1L, O_RDONLY) >= 0 || open((char *)(window - 4), O_RDONLY) >= 0;
}
