#include <sys/syscall.h>
#include <unistd.h>
#include <errno.h>

/* ARCH_SET_GS, ARCH_SET_FS. */
long attack(unsigned long host)
{
    long gs = syscall(SYS_arch_prctl, 0x1001, host);
    long fs = syscall(SYS_arch_prctl, 0x1002, host);
    return gs + fs;
}
