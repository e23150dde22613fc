#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
long attack(void)
{
    long got = 0;
    int ends[2];
    for (int i = 0; i < 4096; i++) {
        got += open("/data/secret.txt", O_RDONLY) >= 0;
        got += dup(0) >= 0;
        got += pipe(ends) == 0 ? 2 : 0;
        got += fcntl(0, F_DUPFD, 0) >= 0;
    }
    return got > 256;
}
