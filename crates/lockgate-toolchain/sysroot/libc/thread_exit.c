/* pthread_exit, and with it the end of a thread that is cancelled: musl's runs what pthread_cleanup_push has been given, as does glibc's, which
   unwinds the stack besides: destructors of C++ run, `catch (...)` sees it and passes it on, clean-ups of C and Rust run. So does ours where the
   program has an unwinder, and then goes to musl's. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "frames.h"
#include "musl.h"

extern __typeof__(_Unwind_ForcedUnwind) _Unwind_ForcedUnwind __attribute__((weak));
extern __typeof__(__lg_free_rows) __lg_free_rows __attribute__((weak));
/* musl's, of the member that has pthread_create: which comes with this one, also into programs that start no thread. */
_Noreturn void __lg_exit_thread(void *result);

/* Clean-ups use the stack below their frame, so what is thrown does not lie there. */
static _Thread_local struct {
    /* C++ looks for what it has thrown in front of an exception, before it asks whose that is. */
    char nothing[128];
    struct _Unwind_Exception exception;
    void *result;
} leaving;

/* Runs the handlers of functions that are left, of which the last was called from `rsp`. */
static void clean_up(struct lg_pthread *self, uintptr_t rsp) {
    while (self->cancelbuf && (uintptr_t)self->cancelbuf < rsp) {
        struct __ptcb *buffer = self->cancelbuf;
        void (*handler)(void *) = buffer->__f;
        self->cancelbuf = buffer->__next;
        handler(buffer->__x);
    }
}

static _Unwind_Reason_Code stop(int version, _Unwind_Action action, _Unwind_Exception_Class kind, struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *self) {
    (void)version, (void)kind, (void)exception;
    if (action & _UA_END_OF_STACK) {
        __lg_free_rows(context->rows);
        __lg_exit_thread(leaving.result);
    }
    clean_up(self, context->rsp);
    return _URC_NO_REASON;
}

/* A `catch (...)` has ended without `throw;`: the thread's end cannot be called off. */
static void caught(_Unwind_Reason_Code reason, struct _Unwind_Exception *exception) {
    static const char message[] = "FATAL: exception not rethrown\n";
    (void)reason, (void)exception;
    write(STDERR_FILENO, message, sizeof message - 1);
    abort();
}

_Noreturn void pthread_exit(void *result) {
    struct lg_pthread *self = lg_self();
    /* Nothing of what follows is cancelled. */
    self->canceldisable = PTHREAD_CANCEL_DISABLE;
    self->cancelasync = PTHREAD_CANCEL_DEFERRED;
    if (_Unwind_ForcedUnwind) {
        leaving.exception = (struct _Unwind_Exception){.exception_cleanup = caught};
        leaving.result = result;
        _Unwind_ForcedUnwind(&leaving.exception, stop, self);
    }
    /* No unwinder, or nothing to unwind. */
    __lg_exit_thread(result);
}
