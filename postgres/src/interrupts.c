#include "postgres.h"

#include "interrupts.h"

#include <signal.h>

#include "miscadmin.h"
#include "version.h"

/* Signals whose handlers may leave a wish to end what runs: cancel, terminate, timeouts, conflicts of recovery. */
static const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1};

/* Handlers of other libraries that have put themselves before ours, of one signal. More of them are unlikely: then the first goes. */
#define MOST_STRANGERS 8

/* Whom a signal goes to. A stranger may call the handler that it found, which is ours, so that one signal comes to ours several times: from the kernel
 * first, then from within each stranger. Each time it goes to the one behind, and in the end to the server's own, which never leads back. */
typedef struct Listener {
    void (*own)(int);                         /* who was there when we came first: it only sets flags; NULL before */
    void (*strangers[MOST_STRANGERS])(int);   /* the newest last */
    volatile sig_atomic_t count;
    volatile sig_atomic_t depth;              /* how often ours is on the stack */
} Listener;

static Listener listeners[lengthof(signals)];

/* Whether the statement is to end. The server would do so at the next CHECK_FOR_INTERRUPTS(), or, if it holds locks of its own, as indexes do that call
 * functions, when these are released: that may be never, if the function loops. An error is what any function may end with, there, too; but not where
 * errors stop the server. */
static int must_stop(void *unused) {
    bool cancels = QueryCancelPending && QueryCancelHoldoffCount == 0;
    return CritSectionCount == 0 && (ProcDiePending || cancels || HAS_TRANSACTION_TIMED_OUT);
}

static void pass_on(Listener *listener, int number) {
    int depth = listener->depth, behind = listener->count - depth;
    listener->depth = depth + 1;
    void (*handler)(int) = behind > 0 ? listener->strangers[behind - 1] : listener->own;
    /* (A stranger may call ours with another signal's number than it found ours at.) */
    if (handler)
        handler(number);
    listener->depth = depth;
}

static void on_signal(int number) {
    for (int i = 0; i < lengthof(signals); i++)
        if (signals[i] == number)
            pass_on(&listeners[i], number);
    /* Even if it is to be held off just now: a function may begin before the server looks again, and then the domain asks. */
    if (QueryCancelPending || ProcDiePending || HAS_TRANSACTION_TIMED_OUT)
        lg_interrupt();
}

void interrupts_stop(lg_options *options) {
    lg_options_stop_if(options, must_stop, NULL);
}

/* A handler that stands before ours is the first to be called from now on. */
static void add(Listener *listener, void (*handler)(int)) {
    /* (A handler that jumped out of a signal has left this as it was.) */
    listener->depth = 0;
    if (!listener->own || listener->own == handler) {
        /* There is no handler behind the server's own. */
        listener->own = handler;
        listener->count = 0;
        return;
    }
    int kept = 0;
    for (int i = listener->count == MOST_STRANGERS; i < listener->count; i++)
        if (listener->strangers[i] != handler)
            listener->strangers[kept++] = listener->strangers[i];
    listener->strangers[kept++] = handler;
    listener->count = kept;
}

static void listen_to(int number, Listener *listener) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_flags & SA_SIGINFO || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
        action.sa_handler == on_signal)
        return;
    add(listener, action.sa_handler);
    action.sa_handler = on_signal;
    /* (A second signal in the midst of one would be taken for a stranger's call.) */
    action.sa_flags &= ~(SA_NODEFER | SA_RESETHAND);
    sigaction(number, &action, NULL);
}

void interrupts_listen(void) {
    sigset_t ours, before;
    sigemptyset(&ours);
    for (int i = 0; i < lengthof(signals); i++)
        sigaddset(&ours, signals[i]);
    sigprocmask(SIG_BLOCK, &ours, &before);
    for (int i = 0; i < lengthof(signals); i++)
        listen_to(signals[i], &listeners[i]);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
