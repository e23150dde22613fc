#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile struct iovec vector[8];
static char text[4096]; /* as long as the longest piece: all that may be written is harmless */
static volatile long theirs;
/* -1 and EFAULT, or harmless bytes. The tripwires and a look at what was written say the rest. */
long attack(long secret)
{
    theirs = secret;
    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = "harmless"[i % 8];
    int file = open("/data/written", O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (file < 0)
        return 1;
    for (int i = 0; i < 8; i++)
        vector[i] = (struct iovec){text, 8};
    for (int i = 0; i < 20000; i++) {
        writev(file, (struct iovec *)vector, 8);
        readv(file, (struct iovec *)vector, 8);
        lseek(file, 0, SEEK_SET);
    }
    char back[64];
    long got = pread(file, back, sizeof back, 0);
    for (long i = 0; i < got; i++)
        if (back[i] != "harmless"[i % 8])
            return 2;
    return 0;
}
long helper(void)
{
    for (int i = 0; i < 8; i++) {
        vector[i].iov_base = (void *)theirs;
        vector[i].iov_len = 4096;
        vector[i].iov_base = text;
        vector[i].iov_len = 8;
    }
    return 0;
}
