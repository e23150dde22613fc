#define _GNU_SOURCE
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FUTEX_WAIT 0
#define FUTEX_PRIVATE_FLAG 128
long attack(void)
{
    static volatile int word;
    for (;;) {
        syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0);
        poll(0, 0, -1);
        nanosleep(&(struct timespec){1L << 40, 0}, 0);
    }
}
