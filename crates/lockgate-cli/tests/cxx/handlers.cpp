// Signal handlers that throw, and that end their thread: what they have interrupted is unwound, and has its registers.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define FAR __attribute__((noinline))

struct Kept {
    long value;
    __attribute__((always_inline)) ~Kept() { std::printf("~%lx\n", value); }
};

// By pointer: the C library's header says that they do not throw.
static int (*volatile raises)(int) = raise;
static int (*volatile sends)(pthread_t, int) = pthread_kill;
static long (*volatile calls)(long, ...) = syscall;

static bool throws;
static int how;

static void handler(int) {
    if (throws)
        throw 5;
    pthread_exit(nullptr);
}

FAR static void interrupted() {
    switch (how) {
    case 0: raises(SIGUSR1); break;
    case 1: sends(pthread_self(), SIGUSR1); break;
    default: calls(SYS_tkill, gettid(), SIGUSR1); break;
    }
    asm volatile("");
}

FAR static long keeps(long a, long b, long c, long d, long e, long f) {
    Kept first{a}, second{b}, third{c}, fourth{d}, fifth{e};
    interrupted();
    return a + b + c + d + e + f;
}

static void *thread(void *) {
    volatile long seed = 0x111;
    long one = seed, two = one * 2, three = one * 3;
    try {
        std::printf("back with %ld\n", keeps(one, two, three, one * 4, one * 5, 6));
    } catch (int thrown) {
        std::printf("caught %d with %lx %lx %lx\n", thrown, one, two, three);
    }
    return nullptr;
}

FAR static int sinks(volatile int depth) {
    volatile char room[4096];
    room[depth & 4095] = 1;
    if (depth < 0) // (Else it could not throw, and the compiler would have no landing pad around it.)
        throw 1;
    return sinks(depth + 1) + room[depth & 4095];
}

// The stack overflows, and is as large as it was when the exception has been caught.
static void overflows() {
    static char memory[65536];
    stack_t stack = {};
    stack.ss_sp = memory, stack.ss_size = sizeof memory;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = handler, action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    throws = true;
    for (int i = 0; i < 3; i++)
        try {
            Kept outer{i};
            std::printf("%d\n", sinks(0));
        } catch (int thrown) {
            std::printf("overflow %d\n", thrown);
        }
}

// Of two signals that are let in together the second one's handler throws, on top of the first one's, which has not run an instruction yet.
static int (*volatile set_mask)(int, const sigset_t *, sigset_t *) = sigprocmask;

FAR static void throws_from_deeper(int signal) {
    Kept first{signal}, second{signal};
    asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
    throw signal;
}

static void on_top(int signal) {
    if (signal == SIGUSR2)
        throws_from_deeper(signal);
}

FAR static long lets_in(long seed) {
    long one = seed * 3, two = seed * 5, three = seed * 7, four = seed * 9;
    asm volatile("" : "+r"(one), "+r"(two), "+r"(three), "+r"(four));
    try {
        Kept outer{seed};
        sigset_t none;
        sigemptyset(&none);
        set_mask(SIG_SETMASK, &none, nullptr);
    } catch (int) {
        asm volatile("" : "+r"(one), "+r"(two), "+r"(three), "+r"(four));
        return one + two + three + four;
    }
    return -1;
}

static void together() {
    std::signal(SIGUSR1, on_top), std::signal(SIGUSR2, on_top);
    for (long seed = 1; seed < 4; seed++) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        raise(SIGUSR1), raise(SIGUSR2);
        std::printf("together: %ld\n", lets_in(seed));
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
    }
}

// What handlers are told of their thread's alternate stack, and what they can do about it.
static char alternate[65536];
static ucontext_t outer, inner;
static sigjmp_buf place;

static void tells(const char *who) {
    stack_t now = {}, none = {}, other = {};
    sigaltstack(nullptr, &now);
    none.ss_flags = SS_DISABLE;
    other.ss_sp = alternate, other.ss_size = 32768;
    std::printf("%s: flags %d, %s, %zu bytes", who, now.ss_flags, now.ss_sp == alternate ? "set" : "not set", now.ss_size);
    if (now.ss_flags & SS_ONSTACK) {
        const auto tried = [](const char *what, long result) { std::printf(", %s %ld (%s)", what, result, std::strerror(errno)); };
        tried("to change", sigaltstack(&other, &now));
        tried("to have none", sigaltstack(&none, nullptr));
        none.ss_flags = 76, none.ss_size = 32768;
        tried("nonsense", sigaltstack(&none, nullptr));
        tried("nowhere", calls(SYS_sigaltstack, 8, nullptr));
    }
    std::printf("\n");
}

static void handles(const char *who, int signal, int flags, void (*how)(int)) {
    struct sigaction action = {};
    action.sa_handler = how, action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
    raise(signal);
    tells(who);
}

static void in_a_context() {
    tells("in a context");
    raise(SIGWINCH);
    swapcontext(&inner, &outer);
}

static void knows_its_stack() {
    tells("before");
    handles("behind a handler without one", SIGUSR1, SA_ONSTACK, [](int) { tells("in a handler without one"); });
    stack_t stack = {};
    stack.ss_sp = alternate, stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    tells("set");
    handles("behind a handler", SIGUSR1, SA_ONSTACK, [](int) { tells("in a handler"); });
    handles("behind a plain handler", SIGUSR1, 0, [](int) { tells("in a plain handler"); });
    handles("behind two", SIGUSR1, SA_ONSTACK, [](int) { handles("behind one of two", SIGUSR2, 0, [](int) { tells("in two"); }); });
    handles("behind two of which a plain one is first", SIGUSR1, 0, [](int) {
        handles("in a plain one behind one", SIGUSR2, SA_ONSTACK, [](int) { tells("in the inner one"); });
    });
    if (!sigsetjmp(place, 1))
        handles("not here", SIGUSR1, SA_ONSTACK, [](int) { siglongjmp(place, 1); });
    tells("behind a jump");
    try {
        handles("not here", SIGUSR1, SA_ONSTACK | SA_NODEFER, [](int) { throw 1; });
    } catch (int) {
        tells("behind an exception");
    }
    static char memory[1 << 17];
    getcontext(&inner);
    inner.uc_stack.ss_sp = memory, inner.uc_stack.ss_size = sizeof memory;
    makecontext(&inner, in_a_context, 0);
    struct sigaction action = {};
    action.sa_handler = [](int) { tells("in a context's handler"); }, action.sa_flags = SA_ONSTACK;
    sigaction(SIGWINCH, &action, nullptr);
    handles("behind a switch", SIGUSR1, 0, [](int) { swapcontext(&outer, &inner); });
    sigaltstack(&(stack.ss_flags = SS_DISABLE, stack), nullptr);
    tells("none any more");
    handles("behind the last", SIGUSR1, SA_ONSTACK, [](int) { tells("in the last handler"); });
}

// Nothing that the handler of an overflow tries takes away the room that the next one needs.
static void takes_its_room_away(int signal) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    const bool is_taken = sigaltstack(&none, nullptr) == 0;
    std::printf("taken away: %d\n", is_taken);
    siglongjmp(place, signal);
}

static void overflows_with_room() {
    stack_t stack = {};
    stack.ss_sp = alternate, stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = takes_its_room_away, action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(place, 1))
            std::printf("%d\n", sinks(0));
}

int main() {
    knows_its_stack();
    overflows_with_room();
    together();
    overflows();
    std::signal(SIGUSR1, handler);
    for (how = 0; how < 3; how++)
        for (bool throwing : {false, true}) {
            throws = throwing;
            std::printf("%d, %s\n", how, throws ? "throws" : "ends its thread");
            pthread_t id;
            pthread_create(&id, nullptr, thread, nullptr);
            pthread_join(id, nullptr);
            // A handler that was left by an exception has left its signal blocked in that thread alone.
        }
}
