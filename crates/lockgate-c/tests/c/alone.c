/* A program without threads keeps what that is worth, and one that gets threads later is as safe as one that has them. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's. */
struct action {
    size_t handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

/* glibc's own signals, by which threads are cancelled, and change who they run as. */
enum { SIGCANCEL = 32, SIGSETXID = 33 };

static struct action action_of(int signal) {
    struct action action;
    CHECK(syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof action.mask) == 0);
    return action;
}

static int is_mended(int signal) {
    struct action action = action_of(signal);
    return action.handler > 1 && (action.flags & SA_ONSTACK) != 0;
}

/* Whether each character that goes to the stream takes a lock: _IO_FLAGS2_NEED_LOCK. */
static int takes_locks(FILE *stream) { return (stream->_flags2 & 128) != 0; }

static int (*same)(int);

static void *call(void *unused) {
    (void)unused;
    CHECK(same(5) == 5 && !lg_failed());
    return NULL;
}

static void *nothing(void *unused) { return unused; }

static void run(void *(*body)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(void) {
    lg_module *module = open_module("guest.lg");
    lg_domain *domain = new_domain(module, NULL);
    lg_function *function = bind(domain, "int same(int)");
    same = POINTER(int (*)(int), function);
    call(NULL);
    FILE *stream = tmpfile();
    CHECK(__libc_single_threaded && stream && !takes_locks(stream) && !takes_locks(stdout));
    CHECK(action_of(SIGCANCEL).handler <= 1);

    /* Any thread may have others change who they run as: libc has it done where there is room. */
    run(nothing);
    CHECK(takes_locks(stream) && takes_locks(stdout) && is_mended(SIGSETXID));

    /* Now there is somebody in a domain who could be cancelled by somebody. */
    run(call);
    CHECK(is_mended(SIGCANCEL));
    CHECK(fclose(stream) == 0);
    lg_function_free(function);
    lg_domain_free(domain);
    lg_module_free(module);
    return 0;
}
