#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
long attack(long secret, long neighbour, long window)
{
    long places[] = {secret, neighbour, window + 0x10000, window + 0x11000, (long)attack, window + (4L << 30) - 4, window - 8, 0, 8, -8L, window + 0x100fbff00L};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        long at = places[i];
        long results[] = {
            syscall(SYS_clock_gettime, 0L, at), syscall(SYS_clock_getres, 0L, at), syscall(SYS_gettimeofday, at, 0L), syscall(SYS_uname, at),
            syscall(SYS_getcwd, at, 64L), syscall(SYS_getrandom, at, 64L, 0L), syscall(SYS_getrlimit, 7L, at), syscall(SYS_getrusage, 0L, at),
            syscall(SYS_sysinfo, at), syscall(SYS_pipe, at), syscall(SYS_sched_getaffinity, 0L, 8L, at), syscall(SYS_prlimit64, 0L, 7L, 0L, at),
            syscall(SYS_rt_sigprocmask, 0L, 0L, at, 8L), syscall(SYS_rt_sigaction, 10L, 0L, at, 8L), syscall(SYS_sigaltstack, 0L, at),
        };
        for (unsigned j = 0; j < sizeof results / sizeof *results; j++)
            if (results[j] != -1 && at)
                return 100 * (i + 1) + j;
    }
    return 0;
}
