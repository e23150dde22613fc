#include "granted.h"

long attack(void)
{
    char text[16];
    for (int number = 0; number < 65536; number++)
        /* (What is written to a standard error that is not there goes nowhere.) */
        if (read(number, text, 1) >= 0 || (number != 2 && write(number, "x", 1) >= 0) || dup(number) >= 0 || fcntl(number, F_DUPFD, 100) >= 0 || !close(number) || lseek(number, 0, SEEK_CUR) >= 0)
            return number + 1;
    return dup2(0, 100000) >= 0 || dup2(-1, 3) >= 0 || fcntl(0, F_DUPFD, 0x7fffffff) >= 0 || syscall(SYS_close_range, 0, ~0U, 0) == 0 || syscall(SYS_pidfd_getfd, 3, 0, 0) >= 0
        || syscall(SYS_socket, 1, 1, 0) >= 0 || syscall(SYS_sendmsg, 0, text, 0) >= 0;
}
