/* A host in which nothing holds that the library wants of signals: in the middle of each call its handlers come in front, by system calls that no
 * code of the library's hears of, without SA_ONSTACK, and there is no alternate stack. So the kernel saves what a module has in its registers on the
 * stack that the module returns by. No return takes it. */
#define _GNU_SOURCE
#include <lockgate.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int wrong;
#define CHECK(what, ...) ((what) ? 0 : (wrong++, printf("%s:%d: " #what ": ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'), 0))

/* As the kernel has it. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

enum { RESTORER = 0x04000000, FRAMES = 8 + 1024, ENOUGH = 200 };

static void in_front(int number, void (*handler)(int)) {
    struct action like, new;
    memset(&like, 0, sizeof like);
    syscall(SYS_rt_sigaction, SIGSEGV, NULL, &like, 8); /* the library's own: it has the address of an rt_sigreturn */
    new = (struct action){(void *)handler, RESTORER | SA_NODEFER | SA_RESTART, like.restorer, 0};
    syscall(SYS_rt_sigaction, number, &new, NULL, 8);
}

static char *of_host; /* an address of the host's stack */
static volatile long on_control_stack;
static sigjmp_buf back;

static void counts(int number) {
    char here;
    (void)number;
    long distance = &here - of_host;
    on_control_stack += distance > 1l << 30 || distance < -(1l << 30);
}
static void jumps(int number) {
    counts(number);
    siglongjmp(back, 1);
}
static int number_in_front;
static void (*handler_in_front)(int);

/* What the module calls in the middle of each of its calls. */
static void unprotect(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    syscall(SYS_sigaltstack, &none, NULL);
    if (number_in_front)
        in_front(number_in_front, handler_in_front);
}

static void escaped(void) {
    static const char text[] = "a return has led to a function of the host's that no code has called\n";
    (void)!write(1, text, sizeof text - 1);
    _exit(77);
}

static lg_code of(lg_domain *domain, const char *prototype) {
    lg_function *function = lg_bind(domain, prototype, LG_DEFAULT);
    CHECK(function, "%s", lg_last_message());
    return function ? lg_function_pointer(function) : NULL;
}

/* A signal comes to this thread every 100 microseconds, but not before the handler of the last one has run: each would interrupt the one before it. */
static timer_t signals(int number, long nanoseconds) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    struct itimerspec soon = {{0, nanoseconds}, {0, nanoseconds}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0, "no timer");
    return timer;
}

int unprotected(const char *file) {
    char here;
    of_host = &here;
    lg_module *module = lg_module_open(file);
    lg_options *options = lg_options_new();
    CHECK(lg_options_gate(options, "void unprotect(void)", (lg_code)unprotect, NULL) == LG_OK, "%s", lg_last_message());
    lg_domain *domain = module ? lg_domain_new(module, options) : NULL;
    if (!domain)
        return printf("%s\n", lg_last_message()), 1;
    long (*fall)(long) = (long (*)(long))of(domain, "long fall(long)");
    long (*spin)(long) = (long (*)(long))of(domain, "long spin(long)");
    long (*stop)(long) = (long (*)(long))of(domain, "long stop(long)");
    long (*divide)(long) = (long (*)(long))of(domain, "long divide(long)");
    long (*crash)(long) = (long (*)(long))of(domain, "long crash(long)");
    if (wrong)
        return wrong;
    long target = (long)escaped;
    CHECK(fall(0) == FRAMES && !lg_failed(), "without a handler");
    /* Handlers that come late. */
    number_in_front = SIGALRM, handler_in_front = counts;
    in_front(SIGALRM, counts);
    timer_t timer = signals(SIGALRM, 300000);
    while (on_control_stack < ENOUGH && !wrong) {
        CHECK(spin(target) == FRAMES && !lg_failed(), "late handlers: %s", lg_last_message());
        CHECK(fall(0) == FRAMES && !lg_failed(), "frames behind late handlers");
    }
    timer_delete(timer);
    signal(SIGALRM, SIG_IGN);
    /* One that passes breakpoints, as a debugger does. */
    number_in_front = SIGTRAP, on_control_stack = 0;
    for (int i = 0; i < 5 && !wrong; i++) {
        CHECK(stop(target) == FRAMES && !lg_failed(), "breakpoints: %s", lg_last_message());
        CHECK(fall(0) == FRAMES && !lg_failed(), "frames behind breakpoints");
    }
    CHECK(on_control_stack >= ENOUGH, "%ld breakpoints came to the handler on the control stack", on_control_stack);
    /* One for a fault, which leaves the call by a jump: the next call begins where the remains of its frame are. */
    number_in_front = SIGFPE, handler_in_front = jumps, on_control_stack = 0;
    for (volatile int i = 0; i < ENOUGH && !wrong; i++) {
        if (sigsetjmp(back, 1) == 0) {
            divide(target);
            wrong++, printf("the handler comes back: %s\n", lg_failed() && lg_take_call_error() ? lg_last_message() : "a result");
        }
        CHECK(fall(0) == FRAMES && !lg_failed(), "frames behind a jump");
    }
    CHECK(on_control_stack >= ENOUGH, "%ld faults came to the handler on the control stack", on_control_stack);
    /* The library's own handlers run there as well. */
    number_in_front = 0;
    for (int i = 0; i < 100 && !wrong; i++) {
        crash(8);
        CHECK(lg_failed() && lg_take_call_error() == LG_E_FAULT, "a load from nowhere");
        CHECK(fall(0) == FRAMES && !lg_failed(), "frames behind a fault");
    }
    return wrong;
}
