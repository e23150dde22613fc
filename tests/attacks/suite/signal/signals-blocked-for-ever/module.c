#include <signal.h>
long attack(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, 0);
    for (volatile long i = 0;; i++)
        ;
}
