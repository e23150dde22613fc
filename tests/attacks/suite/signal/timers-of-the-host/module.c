#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
long attack(void)
{
    struct itimerval soon = {{0, 1000}, {0, 1000}};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    struct timespec rest = {0, 50000000};
    timer_t id;
    long none = 0;
    static const int calls[] = {SYS_timerfd_create, SYS_signalfd4, SYS_eventfd2, SYS_epoll_create1, SYS_inotify_init1, SYS_fanotify_init};
    /* the module's own: nothing is ignored in the host */
    signal(SIGALRM, SIG_IGN), signal(SIGVTALRM, SIG_IGN), signal(SIGPROF, SIG_IGN);
    if (setitimer(ITIMER_REAL, &soon, 0) || setitimer(ITIMER_VIRTUAL, &soon, 0) || setitimer(ITIMER_PROF, &soon, 0))
        return 1;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, 0, &id) || timer_settime(id, 0, &often, 0) || timer_create(CLOCK_MONOTONIC, 0, &id) || timer_settime(id, 0, &often, 0))
        return 1;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(calls[i], 1L, &none, 8L, 0L) >= 0)
            return calls[i];
    alarm(1);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
        ;
    while (nanosleep(&rest, &rest))
        ;
    return 0;
}
