#include "granted.h"

#include <sys/resource.h>
long attack(void)
{
    struct rlimit none = {0, 0};
    static const int calls[] = {SYS_setuid, SYS_setgid, SYS_setgroups, SYS_setresuid, SYS_capset, SYS_setpriority, SYS_ioprio_set, SYS_sched_setaffinity, SYS_sched_setscheduler,
        SYS_setpgid, SYS_setsid, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_reboot, SYS_vhangup, SYS_acct, SYS_syslog};
    umask(0);
    chdir("/data");
    /* The domain's own limits, at most: whoever called has all of its own still, or the attacks behind this one fail. */
    for (int i = 0; i < 16; i++)
        setrlimit(i, &none);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(calls[i], 1L, 1L, 1L, 1L) != -1)
            return calls[i];
    for (long option = 0; option < 80; option++)
        syscall(SYS_prctl, option, 1L, 0L, 0L, 0L);
    return 0;
}
