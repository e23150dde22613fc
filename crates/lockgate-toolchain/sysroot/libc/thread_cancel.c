/* pthread_cancel and the points of cancellation: musl's, but for a thread that may be cancelled anywhere. In musl its handler goes on at __cp_cancel
   in the place of what it has interrupted. Here who goes on elsewhere gives up the frame of the function that was interrupted, with what lies
   there for pthread_exit: handlers of pthread_cleanup_push. So the handler itself ends the thread, below all that is in use. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "call.h"
#include "musl.h"

#define SIGCANCEL 33

hidden long __syscall_cp_asm(volatile int *cancel, long number, long a, long b, long c, long d, long e, long f);
hidden int __libc_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
/* Addresses: a point of cancellation from where it looks to its system call, and what goes on in its place. */
extern hidden const char __cp_begin[], __cp_end[], __cp_cancel[];

hidden long __cancel(void) {
    struct lg_pthread *self = lg_self();
    if (self->canceldisable == PTHREAD_CANCEL_ENABLE || self->cancelasync) pthread_exit(PTHREAD_CANCELED);
    self->canceldisable = PTHREAD_CANCEL_DISABLE;
    return -ECANCELED;
}

hidden long __syscall_cp_c(long number, long a, long b, long c, long d, long e, long f) {
    struct lg_pthread *self = lg_self();
    int state = self->canceldisable;
    if (state && (state == PTHREAD_CANCEL_DISABLE || number == SYS_close)) return lg_call6(number, a, b, c, d, e, f);
    long result = __syscall_cp_asm(&self->cancel, number, a, b, c, d, e, f);
    if (result == -EINTR && number != SYS_close && self->cancel && self->canceldisable != PTHREAD_CANCEL_DISABLE) result = __cancel();
    return result;
}

static void cancel(int signal, siginfo_t *info, void *argument) {
    (void)signal, (void)info;
    struct lg_pthread *self = lg_self();
    ucontext_t *context = argument;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!self->cancel || self->canceldisable == PTHREAD_CANCEL_DISABLE) return;
    sigset_t *mask = &context->uc_sigmask;
    mask->__bits[0] |= 1ul << (SIGCANCEL - 1);
    if (self->cancelasync) {
        lg_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, 8);
        __cancel();
    }
    const char *at = (const char *)context->uc_mcontext.gregs[REG_RIP];
    if (at >= __cp_begin && at < __cp_end) {
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)__cp_cancel;
        return;
    }
    lg_call3(SYS_tkill, self->tid, SIGCANCEL, 0);
}

hidden void __testcancel(void) {
    struct lg_pthread *self = lg_self();
    if (self->cancel && !self->canceldisable) __cancel();
}

int pthread_cancel(pthread_t outer) {
    static int is_handled;
    if (!is_handled) {
        struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = cancel};
        memset(&action.sa_mask, 0xff, 8);
        __libc_sigaction(SIGCANCEL, &action, NULL);
        is_handled = 1;
    }
    struct lg_pthread *thread = (struct lg_pthread *)outer;
    __atomic_store_n(&thread->cancel, 1, __ATOMIC_SEQ_CST);
    if (thread != lg_self()) return pthread_kill(outer, SIGCANCEL);
    if (thread->canceldisable == PTHREAD_CANCEL_ENABLE && thread->cancelasync) pthread_exit(PTHREAD_CANCELED);
    return 0;
}
