#include "postgres.h"

#include "interrupts.h"

#include <signal.h>

#include "miscadmin.h"
#include "version.h"

/* Signals whose handlers may leave a wish to end what runs: cancel, terminate, time-outs, conflicts of recovery. */
static const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1};

/* The server's own handlers, which only set flags. */
static void (*handlers[lengthof(signals)])(int);

/* Whether the server would end the statement at the next CHECK_FOR_INTERRUPTS(). */
static int must_stop(void *unused) {
    bool may = InterruptHoldoffCount == 0 && CritSectionCount == 0;
    bool cancels = QueryCancelPending && QueryCancelHoldoffCount == 0;
    return may && (ProcDiePending || cancels || HAS_TRANSACTION_TIMED_OUT);
}

static void on_signal(int number) {
    for (int i = 0; i < lengthof(signals); i++)
        if (signals[i] == number)
            handlers[i](number);
    /* Even if it is to be held off just now: a function may begin before anybody looks again, and then the domain asks. */
    if (QueryCancelPending || ProcDiePending || HAS_TRANSACTION_TIMED_OUT)
        lg_interrupt();
}

void interrupts_stop(lg_options *options) {
    lg_options_stop_if(options, must_stop, NULL);
}

void interrupts_listen(void) {
    for (int i = 0; i < lengthof(signals); i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || action.sa_flags & SA_SIGINFO || action.sa_handler == SIG_DFL ||
            action.sa_handler == SIG_IGN || action.sa_handler == on_signal)
            continue;
        handlers[i] = action.sa_handler;
        action.sa_handler = on_signal;
        sigaction(signals[i], &action, NULL);
    }
}
