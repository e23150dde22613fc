/* Options, limits, resets, programs, pools. */
#define bind bind_socket /* check.h has a function of that name */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#undef bind
#include "check.h"
#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static lg_module *module;

/* A domain with one option set. */
#define WITH(domain, setter)                                                                              \
    lg_options *options = lg_options_new();                                                               \
    CHECK(options);                                                                                       \
    STATUS(LG_OK, setter);                                                                                \
    lg_domain *domain = new_domain(module, options);                                                      \
    STATUS(LG_OK, lg_options_free(options))

#define REFUSED(wanted, setter)                                                                           \
    do {                                                                                                  \
        lg_options *options = lg_options_new();                                                           \
        STATUS(LG_OK, setter);                                                                            \
        NOTHING(wanted, lg_domain_new(module, options));                                                  \
        STATUS(LG_OK, lg_options_free(options));                                                          \
    } while (0)

static volatile sig_atomic_t wish;

static int wants_an_end(void *at) {
    return *(volatile sig_atomic_t *)at;
}

static void on_alarm(int signal) {
    (void)signal;
    wish = 1;
    lg_interrupt();
}

static void limits(void) {
    REFUSED(LG_E_LIMIT, lg_options_memory_limit(options, 4096));
    REFUSED(LG_E_OPTION, lg_options_stack_size(options, 5000));
    REFUSED(LG_E_OPTION, lg_options_time_limit(options, 0));
    REFUSED(LG_E_OPTION, lg_options_cpu_limit(options, 0));
    REFUSED(LG_E_OPTION, lg_options_thread_limit(options, 64));
    REFUSED(LG_E_OPTION, lg_options_max_guest_threads(options, 63));
    REFUSED(LG_E_OPTION, lg_options_descriptor_limit(options, 0));
    REFUSED(LG_E_OPTION, lg_options_mapping_limit(options, 0));
    REFUSED(LG_E_OPTION, lg_options_mapping_limit(options, 16385));
    REFUSED(LG_E_OPTION, lg_options_depth_limit(options, 0));
    REFUSED(LG_E_OPTION, lg_options_umask(options, 01000));
    STATUS(LG_E_HANDLE, lg_options_depth_limit(NULL, 1));
    {
        WITH(domain, lg_options_memory_limit(options, 8 << 20));
        int (*allocate)(size_t) = POINTER(int (*)(size_t), bind(domain, "allocate"));
        CHECK(allocate(1 << 20) == 1 && allocate(64 << 20) == 0);
        RETURNED();
        lg_usage usage;
        STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
        CHECK(usage.memory_limit == 8 << 20 && usage.memory <= usage.peak_memory && usage.peak_memory > 1 << 20);
        CHECK(usage.threads == 1 && usage.calls == 0 && !usage.has_cpu_time);
        STATUS(LG_E_ARGUMENT, lg_domain_usage(domain, NULL, sizeof usage));
    }
    {
        WITH(domain, lg_options_time_limit(options, 250));
        POINTER(void (*)(void), bind(domain, "spin"))();
        FAILED(LG_E_FAULT);
        CHECK(lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    }
    {
        WITH(domain, lg_options_umask(options, 027));
        CHECK(POINTER(int (*)(void), bind(domain, "mask"))() == 027);
        RETURNED();
    }
    {
        WITH(domain, lg_options_cpu_limit(options, 20));
        void (*spin)(void) = POINTER(void (*)(void), bind(domain, "spin"));
        spin();
        FAILED(LG_E_FAULT);
        CHECK(lg_last_fault()->kind == LG_FAULT_CPU_TIME);
        spin();
        FAILED(LG_E_CPU_TIME);
        lg_usage usage;
        STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
        CHECK(usage.has_cpu_time && usage.cpu_time_ns > 1000000);
    }
    {
        WITH(domain, lg_options_stop_if(options, wants_an_end, (void *)&wish));
        int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
        lg_interrupt(); /* without a wish */
        CHECK(same(7) == 7);
        RETURNED();
        void (*spin)(void) = POINTER(void (*)(void), bind(domain, "spin"));
#ifndef __SANITIZE_THREAD__
        /* (ThreadSanitizer holds signals back until the thread calls one of its interceptors: never, in an endless loop.) */
        struct itimerval soon = {{0, 0}, {0, 20000}};
        CHECK(signal(SIGALRM, on_alarm) != SIG_ERR && setitimer(ITIMER_REAL, &soon, NULL) == 0);
        spin();
        FAILED(LG_E_FAULT);
        CHECK(lg_last_fault()->kind == LG_FAULT_STOPPED);
#endif
        on_alarm(SIGALRM);
        spin();
        (void)lg_take_call_error();
        lg_interrupt();
        do
            same(7); /* until the thread was asked */
        while (!lg_failed());
        lg_status status = lg_take_call_error();
        CHECK(status == LG_E_INTERRUPTED || (status == LG_E_FAULT && lg_last_fault()->kind == LG_FAULT_STOPPED));
        wish = 0;
        CHECK(same(7) == 7);
        RETURNED();
        STATUS(LG_E_ARGUMENT, lg_options_stop_if(lg_options_new(), NULL, NULL));
    }
    {
        WITH(domain, lg_options_measure_cpu_time(options));
        lg_usage usage;
        STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
        CHECK(usage.has_cpu_time);
    }
    {
        WITH(domain, lg_options_stack_size(options, 64 << 10));
        POINTER(int (*)(int), bind(domain, "deep"))(0);
        FAILED(LG_E_FAULT);
        CHECK(strstr(lg_last_fault()->reason, "65536"));
    }
    {
        WITH(domain, lg_options_max_guest_threads(options, 2));
        int (*start)(void) = POINTER(int (*)(void), bind(domain, "start_thread"));
        CHECK(start() == 0);
        RETURNED();
        STATUS(LG_OK, lg_domain_guest_threads_fault(domain));
        lg_function *crash = bind(domain, "start_crash");
        (void)POINTER(int (*)(void), crash)();
        (void)lg_take_call_error(); /* the thread may be quicker than the call that has started it */
        while (lg_domain_guest_threads_fault(domain) == LG_OK)
            sched_yield();
        STATUS(LG_E_FAULT, lg_domain_guest_threads_fault(domain));
        CHECK(strcmp(lg_last_fault()->function, "crash_in_thread") == 0);
        CHECK(strstr(lg_last_message(), "crash_in_thread"));
    }
    STATUS(LG_E_HANDLE, lg_domain_guest_threads_fault(NULL));
    lg_domain *domain = new_domain(module, NULL);
    CHECK(POINTER(int (*)(void), bind(domain, "start_thread"))() == EAGAIN);
    CHECK(POINTER(long (*)(void), bind(domain, "odd_syscall"))() == -1);
    lg_refused refused[4];
    size_t count = lg_domain_refused_syscalls(domain, refused, 4), found = 0;
    for (size_t i = 0; i < count; i++)
        found += refused[i].number == SYS_userfaultfd && refused[i].times == 1;
    CHECK(found == 1 && lg_domain_refused_syscalls(domain, NULL, 0) == count);
    NOTHING(LG_E_ARGUMENT, lg_domain_refused_syscalls(domain, NULL, 1));
}

static void broken(void) {
    NOTHING(LG_E_START, lg_domain_new(open_module("start.lg"), NULL));
    CHECK(lg_last_fault() && strcmp(lg_last_fault()->function, "begin") == 0);
}

static void names_and_seals(void) {
    WITH(domain, lg_options_name(options, "codec"));
    CHECK(strcmp(lg_domain_name(domain), "codec") == 0);
    CHECK(lg_domain_base(domain) % (UINT64_C(1) << 32) == 0);
    POINTER(void (*)(int *), bind(domain, "crash"))(NULL);
    FAILED(LG_E_FAULT);
    CHECK(strcmp(lg_last_fault()->domain, "codec") == 0);
    lg_options *sealed = lg_options_new();
    STATUS(LG_OK, lg_options_seal(sealed));
    STATUS(LG_OK, lg_options_policy(sealed, LG_MUTUAL_TRUST | LG_COUNTED));
    STATUS(LG_E_ARGUMENT, lg_options_policy(sealed, 1u << 20));
    STATUS(LG_E_ARGUMENT, lg_options_name(sealed, NULL));
    lg_domain *other = new_domain(module, sealed);
    lg_function *same = lg_bind(other, "same", LG_MUTUAL_TRUST);
    CHECK(lg_function_policy(same) == (LG_MUTUAL_TRUST | LG_COUNTED));
}

static void granted(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_E_DIRECTORY, lg_options_directory(options, "/data", "no such folder", 0));
    STATUS(LG_E_DIRECTORY, lg_options_directory(options, "/data", "/proc", 0));
    SAYS("proc");
    STATUS(LG_E_DIRECTORY, lg_options_directory(options, "data", ".", 0));
    STATUS(LG_E_ARGUMENT, lg_options_directory(options, NULL, ".", 0));
    STATUS(LG_OK, lg_options_directory(options, "/data", ".", 0));
    STATUS(LG_OK, lg_options_current_directory(options, "/data"));
    STATUS(LG_E_STREAM, lg_options_stream(options, 1, 999));
    struct rlimit before, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0; /* no descriptor is left */
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    STATUS(LG_E_STREAM, lg_options_stream(options, 1, 1));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    STATUS(LG_E_ARGUMENT, lg_options_stream(options, 1, -1));
    STATUS(LG_E_ARGUMENT, lg_options_stream(options, 3, 1));
    STATUS(LG_E_ARGUMENT, lg_options_forbid(options, -1));
    STATUS(LG_E_STREAM, lg_options_forbid(options, 999));
    int secret = open("garbage.lg", O_RDONLY), ends[2];
    CHECK(secret >= 0 && pipe(ends) == 0);
    STATUS(LG_OK, lg_options_forbid(options, secret));
    STATUS(LG_OK, lg_options_standard_streams(options));
    STATUS(LG_OK, lg_options_stream(options, 1, ends[1]));
    close(ends[1]);
    lg_domain *domain = new_domain(module, options);
    int (*open_file)(const void *) = POINTER(int (*)(const void *), bind(domain, "open_file"));
    CHECK(open_file(lg_memory_alloc_copy(domain, "/data/guest.lg", 15)) == 0);
    CHECK(open_file(lg_memory_alloc_copy(domain, "guest.lg", 9)) == 0);
    CHECK(open_file(lg_memory_alloc_copy(domain, "garbage.lg", 11)) == -EACCES ||
          open_file(lg_memory_alloc_copy(domain, "garbage.lg", 11)) == -EPERM);
    CHECK(open_file(lg_memory_alloc_copy(domain, "/etc/passwd", 12)) == -ENOENT);
    int (*say)(const void *) = POINTER(int (*)(const void *), bind(domain, "say"));
    char heard[8];
    CHECK(say(lg_memory_alloc_copy(domain, "hello", 6)) == 5 && read(ends[0], heard, sizeof heard) == 5);
    CHECK(memcmp(heard, "hello", 5) == 0);
    lg_domain *bare = new_domain(module, NULL);
    open_file = POINTER(int (*)(const void *), bind(bare, "open_file"));
    CHECK(open_file(lg_memory_alloc_copy(bare, "/data/guest.lg", 15)) < 0);
    RETURNED();
    close(ends[0]);
    close(secret);
}

/* What a domain writes sends no signal to the program, whose own these would be: the end of a reader, of a pipe or a socket, ends
 * the domain's call; a file that may not grow is an error. The first one is written while there is room, the others are waited for. */
static void nobody_reads(void) {
    int ends[3][2];
    struct rlimit all, few;
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    CHECK(pipe(ends[0]) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends[1]) == 0);
    CHECK((ends[2][1] = open("small", O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0 && (ends[2][0] = dup(0)) >= 0);
    for (int i = 0; i < 3; i++) {
        lg_options *options = lg_options_new();
        STATUS(LG_OK, lg_options_stream(options, 1, ends[i][1]));
        lg_domain *domain = new_domain(module, options);
        int (*say)(const void *) = POINTER(int (*)(const void *), bind(domain, "say"));
        void *text = lg_memory_alloc_copy(domain, "hello", 6);
        CHECK(say(text) == 5);
        CHECK(close(ends[i][0]) == 0);
        CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
        few = all;
        few.rlim_cur = 5;
        CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
        int said = say(text);
        CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
        if (i < 2) {
            FAILED(LG_E_FAULT);
            SAYS("signal 13");
        } else {
            CHECK(said == -1);
            RETURNED();
        }
        sigset_t pending;
        CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ));
        CHECK(close(ends[i][1]) == 0);
    }
}

/* The same of what a domain has opened and made itself. */
static void nobody_reads_its_own(void) {
    struct rlimit all, few;
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_directory(options, "/data", ".", 1));
    lg_domain *domain = new_domain(module, options);
    int (*make_own)(const void *) = POINTER(int (*)(const void *), bind(domain, "make_own"));
    int (*write_own)(int) = POINTER(int (*)(int), bind(domain, "write_own"));
    CHECK(make_own(lg_memory_alloc_copy(domain, "/data/small", 12)) == 5);
    CHECK(write_own(0) == 5);
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    few = all;
    few.rlim_cur = 5;
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    int written = write_own(0);
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
    CHECK(written == -EFBIG);
    RETURNED();
    write_own(1);
    FAILED(LG_E_FAULT);
    SAYS("signal 13");
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ));
}

static void lives(void) {
    lg_domain *domain = new_domain(module, NULL);
    lg_function *count = bind(domain, "count");
    CHECK(POINTER(int (*)(void), count)() == 1 && POINTER(int (*)(void), count)() == 2);
    STATUS(LG_E_IN_USE, lg_domain_reset(domain));
    STATUS(LG_OK, lg_function_free(count));
    STATUS(LG_OK, lg_domain_reset(domain));
    count = bind(domain, "count");
    CHECK(POINTER(int (*)(void), count)() == 1);
    STATUS(LG_OK, lg_domain_kill(domain));
    POINTER(int (*)(void), count)();
    FAILED(LG_E_KILLED);
    STATUS(LG_OK, lg_domain_close(domain));
    STATUS(LG_E_HANDLE, lg_domain_close(domain));
    POINTER(int (*)(void), count)();
    FAILED(LG_E_KILLED);
    /* A function keeps its domain. */
    domain = new_domain(module, NULL);
    count = bind(domain, "count");
    STATUS(LG_OK, lg_domain_free(domain));
    CHECK(POINTER(int (*)(void), count)() == 1);
    RETURNED();
    STATUS(LG_OK, lg_function_free(count));
}

static void pools(void) {
    lg_pool *pool = lg_pool_new(module, NULL, 2);
    CHECK(pool && lg_pool_ready(pool) == 0);
    for (int i = 0; i < 3; i++) {
        lg_domain *domain = lg_pool_take(pool);
        lg_function *count = bind(domain, "count");
        CHECK(POINTER(int (*)(void), count)() == 1);
        STATUS(LG_E_ARGUMENT, lg_domain_reset(domain));
        STATUS(LG_OK, lg_function_free(count));
        STATUS(LG_OK, lg_domain_free(domain));
        CHECK(lg_pool_ready(pool) == 1);
    }
    lg_domain *domain = lg_pool_take(pool);
    lg_function *kept = bind(domain, "count");
    STATUS(LG_OK, lg_domain_free(domain));
    CHECK(lg_pool_ready(pool) == 0);
    CHECK(POINTER(int (*)(void), kept)() == 1);
    STATUS(LG_OK, lg_function_free(kept));
    /* One that is closed ends, whatever else keeps it, and does not go back. */
    domain = lg_pool_take(pool);
    lg_region *region = lg_region_new(4096);
    lg_grant *grant = lg_grant_new(domain, region, LG_READ);
    kept = bind(domain, "count");
    STATUS(LG_OK, lg_domain_close(domain));
    for (int i = 0; lg_grant_rights(grant) && i < 60000; i++) /* (the watcher sees to the end) */
        usleep(1000);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(grant));
    CHECK(lg_pool_ready(pool) == 0);
    STATUS(LG_OK, lg_function_free(kept));
    STATUS(LG_OK, lg_grant_free(grant));
    STATUS(LG_OK, lg_region_free(region));
    domain = lg_pool_take(pool);
    STATUS(LG_OK, lg_pool_free(pool)); /* the domain keeps it */
    CHECK(POINTER(int (*)(void), kept = bind(domain, "count"))() == 1);
    STATUS(LG_OK, lg_function_free(kept));
    STATUS(LG_OK, lg_domain_free(domain));
    STATUS(LG_E_HANDLE, lg_pool_free(pool));
    NOTHING(LG_E_HANDLE, lg_pool_new(NULL, NULL, 1));
}

#ifndef __SANITIZE_ADDRESS__ /* which is right that what the reset's frames held is lost */
/* A function of the program's, which a constructor calls, ends the thread that resets the domain: that has ended then, and nobody waits. */
static __thread int leaves;
static int leave(int a, int b) {
    if (leaves)
        pthread_exit(NULL);
    return a + b;
}

static void *reset_and_leave(void *domain) {
    leaves = 1;
    STATUS(LG_OK, lg_domain_reset((lg_domain *)domain));
    CHECK(!"pthread_exit returned");
    return NULL;
}

static void left(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)leave, NULL));
    lg_domain *domain = new_domain(open_module("first.lg"), options);
    STATUS(LG_OK, lg_domain_reset(domain));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, reset_and_leave, domain) == 0 && pthread_join(thread, NULL) == 0);
    NOTHING(LG_E_KILLED, lg_bind(domain, "int value(void)", LG_DEFAULT));
    STATUS(LG_E_KILLED, lg_domain_reset(domain));
    STATUS(LG_OK, lg_domain_free(domain));
}
#endif

/* A reset keeps no lock while constructors run: what they call, and other threads, get answers. Without that, these wait for ever, and the
 * alarm ends the program. */
static lg_domain *being_reset;
static enum { QUIET, ASKS, ASKS_ELSEWHERE, KILLS, KILLS_ELSEWHERE, FREES, CLOSES, LOOPS } in_reset;
static sem_t loops_now;
static int answers;

static void *ask(void *unused) {
    (void)unused;
    lg_usage usage;
    STATUS(LG_E_BUSY, lg_domain_usage(being_reset, &usage, sizeof usage));
    SAYS("is being reset");
    NOTHING(LG_E_BUSY, lg_domain_base(being_reset));
    NOTHING(LG_E_BUSY, lg_bind(being_reset, "int value(void)", LG_DEFAULT));
    NOTHING(LG_E_BUSY, lg_memory_alloc(being_reset, 1));
    STATUS(LG_E_BUSY, lg_domain_guest_threads_fault(being_reset));
    STATUS(LG_E_BUSY, lg_domain_reset(being_reset));
    CHECK(strcmp(lg_domain_name(being_reset), "first") == 0);
    answers++;
    return NULL;
}

static void *end_it(void *unused) {
    (void)unused;
    STATUS(LG_OK, lg_domain_kill(being_reset));
    answers++;
    return NULL;
}

static void elsewhere(void *(*work)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static int called_in_reset(int a, int b) {
    if (in_reset != QUIET)
        CHECK(lg_domain_base(LG_CALLER));
    switch (in_reset) {
    case QUIET: break;
    case ASKS: ask(NULL); break;
    case ASKS_ELSEWHERE: elsewhere(ask); break;
    case KILLS: end_it(NULL); break;
    case KILLS_ELSEWHERE: elsewhere(end_it); break;
    case FREES: STATUS(LG_OK, lg_domain_free(being_reset)); break;
    case CLOSES: STATUS(LG_OK, lg_domain_close(being_reset)); break;
    case LOOPS: CHECK(sem_post(&loops_now) == 0); return -1;
    }
    return a + b;
}

static void *end_when_it_loops(void *unused) {
    while (sem_wait(&loops_now) != 0)
        ;
    return end_it(unused);
}

static void resets(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_name(options, "first"));
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)called_in_reset, NULL));
    lg_module *first = open_module("first.lg");
    CHECK(sem_init(&loops_now, 0, 0) == 0);
    CHECK(signal(SIGALRM, SIG_DFL) != SIG_ERR);
    alarm(60);
    in_reset = QUIET;
    being_reset = new_domain(first, options);
    uint64_t base = lg_domain_base(being_reset);
    in_reset = ASKS;
    STATUS(LG_OK, lg_domain_reset(being_reset));
    in_reset = ASKS_ELSEWHERE;
    STATUS(LG_OK, lg_domain_reset(being_reset)); /* what was asked has not been left in use */
    CHECK(answers == 2 && lg_domain_base(being_reset) == base);
    lg_function *value = bind(being_reset, "value");
    CHECK(POINTER(int (*)(void), value)() == 3);
    STATUS(LG_OK, lg_function_free(value));
    in_reset = FREES;
    STATUS(LG_OK, lg_domain_reset(being_reset));
    STATUS(LG_E_HANDLE, lg_domain_reset(being_reset));
    in_reset = QUIET;
    being_reset = new_domain(first, options);
    in_reset = CLOSES;
    STATUS(LG_E_START, lg_domain_reset(being_reset));
    STATUS(LG_E_HANDLE, lg_domain_reset(being_reset));
    for (int i = 0; i < 3; i++) {
        in_reset = QUIET;
        being_reset = new_domain(first, options);
        in_reset = i == 0 ? KILLS : i == 1 ? KILLS_ELSEWHERE : LOOPS;
        pthread_t thread;
        CHECK(i != 2 || pthread_create(&thread, NULL, end_when_it_loops, NULL) == 0);
        STATUS(LG_E_START, lg_domain_reset(being_reset));
        CHECK(lg_last_fault() && lg_last_fault()->kind == LG_FAULT_KILLED);
        CHECK(i != 2 || pthread_join(thread, NULL) == 0);
        CHECK(answers == 3 + i);
        STATUS(LG_E_KILLED, lg_domain_kill(being_reset));
        NOTHING(LG_E_KILLED, lg_bind(being_reset, "int value(void)", LG_DEFAULT));
        STATUS(LG_OK, i ? lg_domain_free(being_reset) : lg_domain_close(being_reset));
    }
    alarm(0);
    STATUS(LG_OK, lg_options_free(options));
}

static void programs(void) {
    lg_module *program = open_module("program.lg");
    lg_options *options = lg_options_new();
    const char *const arguments[] = {"program", "h\xe9llo"};
    int ends[2], status = -1;
    char heard[16];
    CHECK(pipe(ends) == 0);
    STATUS(LG_OK, lg_options_arguments(options, 2, arguments));
    STATUS(LG_E_ARGUMENT, lg_options_arguments(options, 2, NULL));
    STATUS(LG_OK, lg_options_stream(options, 1, ends[1]));
    STATUS(LG_OK, lg_run(program, options, &status));
    CHECK(status == 2 && read(ends[0], heard, sizeof heard) == 8 && memcmp(heard, "2 h\xe9llo\n", 8) == 0);
    STATUS(LG_E_ARGUMENT, lg_run(program, options, NULL));
    STATUS(LG_OK, lg_options_environment(options, "WHICH", "first"));
    STATUS(LG_OK, lg_options_environment(options, "WHICH", "last"));
    STATUS(LG_OK, lg_run(program, options, &status));
    CHECK(status == 2);
    STATUS(LG_OK, lg_options_environment(options, "CRASH", "1"));
    STATUS(LG_E_ARGUMENT, lg_options_environment(options, "CRASH", NULL));
    STATUS(LG_E_ARGUMENT, lg_options_environment(options, "", "1"));
    STATUS(LG_E_ARGUMENT, lg_options_environment(options, "A=B", "1"));
    STATUS(LG_E_FAULT, lg_run(program, options, &status));
    CHECK(strstr(lg_last_fault()->file, "program.c"));
    STATUS(LG_E_ARGUMENT, lg_run(module, NULL, &status));
    STATUS(LG_E_HANDLE, lg_run(NULL, NULL, &status));
}

/* A port of this machine, for a domain that may connect to it and for one that may not. */
static void sockets(void) {
    struct sockaddr_in at;
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && listen(listener, 4) == 0); /* the kernel picks a port */
    CHECK(getsockname(listener, (struct sockaddr *)&at, &length) == 0);
    char address[32], other[32], denied[64];
    int port = ntohs(at.sin_port);
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    snprintf(other, sizeof other, "127.0.0.1:%d", port ^ 1);
    lg_options *options = lg_options_new();
    STATUS(LG_E_ARGUMENT, lg_options_connect(options, "127.0.0.1"));
    SAYS("there is no port");
    STATUS(LG_E_ARGUMENT, lg_options_listen(options, NULL));
    STATUS(LG_OK, lg_options_listen(options, "127.0.0.1:0"));
    STATUS(LG_OK, lg_options_connect(options, address));
    lg_domain *domain = new_domain(module, options);
    int (*says)(int) = POINTER(int (*)(int), bind(domain, "says"));
    CHECK(lg_domain_denied(domain, NULL, 0) == 0);
    pid_t server = fork();
    if (server == 0)
        _exit(write(accept(listener, NULL, NULL), "*", 1) != 1);
    CHECK(says(port) == '*');
    int status = 1;
    CHECK(waitpid(server, &status, 0) == server && status == 0);
    CHECK(says(port ^ 1) == -EACCES && says(port ^ 1) == -EACCES);
    snprintf(denied, sizeof denied, "connect to %s: 2\n", other);
    char text[64] = "";
    CHECK(lg_domain_denied(domain, text, sizeof text) == strlen(denied) && strcmp(text, denied) == 0);
    CHECK(lg_domain_denied(domain, text, 8) == strlen(denied) && strcmp(text, "connect") == 0);
    NOTHING(LG_E_ARGUMENT, lg_domain_denied(domain, NULL, 1));
    STATUS(LG_OK, lg_options_free(options));
    close(listener);
}

/* So much of its stack the library, built for tests, may use before it looks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LOOKS_AT = 60 << 10 };
#else
enum { LOOKS_AT = 28 << 10 };
#endif

/* What lockgate.h says that a thread needs of its stack, where it calls the library: for its first call of a domain, and to make one. (What
 * sanitizers add to frames is not in it.) */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { FOR_A_CALL = 40 << 10 };
enum { TO_MAKE_ONE = 80 << 10 };
#else
enum { FOR_A_CALL = 96 << 10, TO_MAKE_ONE = 192 << 10 };
#endif

/* What a thread does that has so much of its stack left: nothing that the library says it has changed has changed. */
typedef struct attempt {
    size_t left;
    lg_status (*what)(void);
    lg_status status;
    int has_called;
} attempt;

static lg_domain *served, *pooled;
static lg_options *plain;
static lg_pool *its_pool;
static lg_registry *registry;
static lg_function *of_served;

static lg_status makes(void) {
    lg_domain *made = lg_domain_new(module, plain);
    return made ? lg_domain_free(made) : lg_last_status();
}
static lg_status takes(void) {
    lg_domain *taken = lg_pool_take(its_pool);
    return taken ? lg_domain_free(taken) : lg_last_status();
}
static lg_status gives_back(void) { return lg_domain_free(pooled); }
static lg_status resets_served(void) {
    return lg_domain_reset(served);
}
static lg_status calls_served(void) {
    lg_value one;
    one.type = LG_SIGNED;
    return lg_call(of_served, NULL, 0, &one);
}
static lg_status restarts(void) { return lg_registry_restart(registry, "served") ? LG_OK : lg_last_status(); }

static __attribute__((noinline)) void descend(attempt *own, char *lowest) {
    char here;
    size_t room = (size_t)(&here - lowest) - own->left;
    volatile char *frame = (volatile char *)__builtin_alloca(room);
    frame[0] = 1; /* (all of it counts as used) */
    own->status = own->what();
    frame[0] = 2;
}

static void *attempts(void *argument) {
    attempt *own = (attempt *)argument;
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &lowest, &size) == 0);
    pthread_attr_destroy(&attributes);
    lg_value one;
    one.type = LG_SIGNED;
    if (own->has_called)
        STATUS(LG_OK, lg_call(of_served, NULL, 0, &one));
    descend(own, (char *)lowest);
    return NULL;
}

static lg_status with_left(size_t left, int has_called, lg_status (*what)(void)) {
    attempt own = {left, what, LG_OK, has_called};
    pthread_t id;
    CHECK(pthread_create(&id, NULL, attempts, &own) == 0 && pthread_join(id, NULL) == 0);
    return own.status;
}

static lg_status reset_within, restart_within;
static int at_the_end(int a, int b) {
    /* (The limit has passed when the library's own thread says so.) */
    for (time_t begun = time(NULL); makes() == LG_OK && time(NULL) - begun < 30;)
        ;
    reset_within = resets_served();
    restart_within = restarts();
    return a + b;
}

static void serve(void) {
    lg_export *what = lg_export_new("served.count", 1, 0);
    STATUS(LG_OK, lg_export_of(what, "count"));
    STATUS(LG_OK, lg_export_allow_everyone(what));
    STATUS(LG_OK, lg_registry_export(registry, served, what));
    lg_request *request = lg_request_newest("served.count");
    STATUS(LG_OK, lg_request_rebind(request, 1));
    CHECK((of_served = lg_registry_bind(registry, LG_PROCESS, request)));
    STATUS(LG_OK, lg_request_free(request));
}

/* Where no call could begin, a reset and a restart change nothing; where a domain cannot be made, for want of stack, that is told. */
static void starts_that_cannot_begin(void) {
    lg_options *wished = lg_options_new();
    STATUS(LG_OK, lg_options_name(wished, "served"));
    STATUS(LG_OK, lg_options_stop_if(wished, wants_an_end, (void *)&wish));
    plain = lg_options_new();
    registry = lg_registry_new();
    its_pool = lg_pool_new(module, plain, 1);
    served = new_domain(module, wished);
    serve();
    lg_value one;
    one.type = LG_SIGNED;
    STATUS(LG_OK, lg_call(of_served, NULL, 0, &one));

    wish = 1;
    NOTHING(LG_E_INTERRUPTED, lg_registry_restart(registry, "served"));
    wish = 0;
    STATUS(LG_OK, lg_call(of_served, NULL, 0, &one));
    CHECK(one.as.i == 2);

    lg_options *limited = lg_options_new();
    STATUS(LG_OK, lg_options_time_limit(limited, 100));
    STATUS(LG_OK, lg_options_gate(limited, "int host_add(int, int)", (lg_code)at_the_end, NULL));
    lg_domain *late = new_domain(module, limited);
    POINTER(int (*)(int, int), bind(late, "add_by_host"))(1, 2);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    CHECK(restart_within == LG_E_INTERRUPTED && reset_within == LG_E_INTERRUPTED);
    STATUS(LG_OK, lg_call(of_served, NULL, 0, &one));
    CHECK(one.as.i == 3);

    for (size_t left = LOOKS_AT; left < 64 << 10; left += 2 << 10)
        for (int has_called = 0; has_called < 2; has_called++) {
            CHECK(with_left(left, has_called, makes) == LG_E_TOO_DEEP);
            CHECK(with_left(left, has_called, restarts) == LG_E_TOO_DEEP);
            CHECK((pooled = lg_pool_take(its_pool)));
            CHECK(with_left(left, has_called, gives_back) == LG_OK);
        }
    STATUS(LG_OK, lg_call(of_served, NULL, 0, &one));
    CHECK(one.as.i == 3 + 3 * ((64 << 10) - LOOKS_AT) / (2 << 10) + 1); /* those that had called have each called once */
    for (int has_called = 0; has_called < 2; has_called++) {
        STATUS(LG_OK, with_left(TO_MAKE_ONE, has_called, makes));
        STATUS(LG_OK, with_left(TO_MAKE_ONE, has_called, takes));
        STATUS(LG_OK, with_left(TO_MAKE_ONE, has_called, restarts));
        CHECK((pooled = lg_pool_take(its_pool)));
        STATUS(LG_OK, with_left(TO_MAKE_ONE, has_called, gives_back));
    }
    STATUS(LG_OK, with_left(FOR_A_CALL, 0, calls_served));
    STATUS(LG_OK, lg_registry_remove(registry, "served"));
    STATUS(LG_OK, lg_function_free(of_served));

    served = new_domain(module, wished);
    lg_function *count = bind(served, "count");
    STATUS(LG_OK, lg_call(count, NULL, 0, &one));
    STATUS(LG_OK, lg_function_free(count));
    wish = 1;
    STATUS(LG_E_INTERRUPTED, lg_domain_reset(served));
    wish = 0;
    POINTER(int (*)(int, int), bind(late, "add_by_host"))(1, 2);
    FAILED(LG_E_FAULT);
    CHECK(reset_within == LG_E_INTERRUPTED);
    for (size_t left = LOOKS_AT; left < 64 << 10; left += 2 << 10)
        CHECK(with_left(left, 0, resets_served) == LG_E_TOO_DEEP);
    count = bind(served, "count");
    STATUS(LG_OK, lg_call(count, NULL, 0, &one));
    CHECK(one.as.i == 2);
    STATUS(LG_OK, lg_function_free(count));
    STATUS(LG_OK, with_left(TO_MAKE_ONE, 0, resets_served));
}

int main(void) {
    module = open_module("guest.lg");
    sockets();
    limits();
    broken();
    names_and_seals();
    granted();
    nobody_reads();
    nobody_reads_its_own();
    lives();
    pools();
    resets();
    starts_that_cannot_begin();
#ifndef __SANITIZE_ADDRESS__
    left();
#endif
    programs();
    return 0;
}
