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
    static const char *const paths[] = {"/data/../outside/secret.txt", "/data/./.././outside/secret.txt", "../outside/secret.txt", "//data//..//..//outside/secret.txt",
        "/data/none/../../outside/secret.txt", "/../../../../etc/passwd", "/data/secret.txt/../../outside/secret.txt", "/etc/passwd", "", "/", "....//etc/passwd"};
    chdir("/data");
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (leaks(paths[i]))
            return i + 1;
    int folder = open("/data", O_RDONLY | O_DIRECTORY);
    return leaks_at(folder, "../outside/secret.txt", O_RDONLY) || leaks_at(folder, "..", O_RDONLY) || (!chdir("..") && leaks("outside/secret.txt"));
}
