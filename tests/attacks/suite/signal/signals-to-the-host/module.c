#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
static int same(long result) { return result == 0; }
long attack(void)
{
    long self = syscall(SYS_getpid), sent = 0;
    for (long who = -3; who < 100; who++)
        for (int number = 0; number < 65; number++) {
            if (who == self || who == 0 || who == -1 || who == -self || who == syscall(SYS_gettid))
                continue;
            sent += same(syscall(SYS_kill, who, number)) + same(syscall(SYS_tkill, who, number));
            sent += same(syscall(SYS_tgkill, who, who, number)) + same(syscall(SYS_tgkill, self, who, number));
        }
    char info[128] = {9};
    sent += same(syscall(SYS_rt_sigqueueinfo, 1, 9, info)) + same(syscall(SYS_pidfd_open, 1, 0)) + same(syscall(SYS_pidfd_send_signal, 3, 9, 0, 0));
    return sent;
}
