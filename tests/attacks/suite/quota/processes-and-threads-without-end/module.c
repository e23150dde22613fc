#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *forever(void *unused) { for (;;) sleep(1000); return unused; }
long attack(void)
{
    long got = 0, record[11] = {0};
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        got += pthread_create(&thread, 0, forever, 0) == 0;
    }
    for (int bit = 0; bit < 32; bit++)
        if (syscall(SYS_clone, 1L << bit | 17, 0L, 0L, 0L, 0L) != -1)
            return 100 + bit;
    if (syscall(SYS_fork) != -1 || syscall(SYS_vfork) != -1 || syscall(SYS_clone3, record, sizeof record) != -1)
        return 200;
    return got > 4;
}
