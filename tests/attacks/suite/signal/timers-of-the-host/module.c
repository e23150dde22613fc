#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
long attack(void)
{
    struct itimerval soon = {{0, 1000}, {0, 1000}};
    long id = 0, none = 0;
    static const int calls[] = {SYS_timerfd_create, SYS_signalfd4, SYS_eventfd2, SYS_epoll_create1, SYS_inotify_init1, SYS_fanotify_init};
    if (!syscall(SYS_setitimer, ITIMER_REAL, &soon, 0) || !syscall(SYS_timer_create, 1, 0, &id))
        return 1;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(calls[i], 1L, &none, 8L, 0L) >= 0)
            return calls[i];
    return syscall(SYS_alarm, 1L);
}
