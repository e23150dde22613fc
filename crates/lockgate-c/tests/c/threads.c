/* Asynchronous calls, exclusive domains, many threads with the same handles. */
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static lg_module *module;

static int work(void *user) {
    int (*same)(int) = *(int (**)(int))user;
    return same(20) + 1;
}

static void post(void *user) {
    sem_post((sem_t *)user);
}

static void asynchronous(void) {
    NOTHING(LG_E_OPTION, lg_workers_new(0, 1));
    NOTHING(LG_E_OPTION, lg_workers_new(4097, 1));
    NOTHING(LG_E_OPTION, lg_workers_new((size_t)-1, 1));
    lg_workers *workers = lg_workers_new(1, 1);
    lg_domain *domain = new_domain(module, NULL);
    lg_function *same = bind(domain, "same"), *spin = bind(domain, "spin");
    lg_value argument = signed_value(7), result = {LG_DOUBLE, {0}, {NULL, 0}};
    lg_async *call = lg_call_async(same, workers, 0, &argument, 1);
    STATUS(LG_E_ARGUMENT, lg_async_wait(call, -1, &result)); /* which takes nothing */
    result.type = LG_SIGNED;
    STATUS(LG_OK, lg_async_wait(call, -1, &result));
    CHECK(result.type == LG_SIGNED && result.as.i == 7 && lg_async_has_ended(call));
    STATUS(LG_E_ARGUMENT, lg_async_wait(call, -1, &result));
    STATUS(LG_OK, lg_async_free(call));

    lg_async *busy = lg_call_async(spin, workers, 0, NULL, 0);
    STATUS(LG_E_PENDING, lg_async_wait(busy, 1, NULL));
    lg_usage usage;
    do
        STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
    while (usage.calls == 0);
    lg_async *waiting = lg_call_async(same, workers, 0, &argument, 1);
    CHECK(waiting && lg_workers_pending(workers) == 2);
    NOTHING(LG_E_QUEUE_FULL, lg_call_async(same, workers, 0, &argument, 1));
    sem_t ended;
    CHECK(sem_init(&ended, 0, 0) == 0);
    STATUS(LG_OK, lg_async_notify(waiting, post, &ended));
    STATUS(LG_E_ARGUMENT, lg_async_notify(waiting, NULL, &ended));
    CHECK(!lg_async_has_ended(busy));
    STATUS(LG_OK, lg_async_cancel(busy));
    STATUS(LG_E_CANCELLED, lg_async_wait(busy, -1, NULL));
    while (sem_wait(&ended) != 0)
        ;
    STATUS(LG_OK, lg_async_wait(waiting, 0, &result));
    STATUS(LG_OK, lg_async_notify(waiting, post, &ended)); /* at once */
    CHECK(sem_trywait(&ended) == 0);
    busy = lg_call_async(spin, workers, 20, NULL, 0);
    STATUS(LG_E_DEADLINE, lg_async_wait(busy, -1, NULL));

    int (*pointer)(int) = POINTER(int (*)(int), same);
    lg_async *own = lg_spawn(domain, workers, 0, work, &pointer);
    STATUS(LG_OK, lg_async_wait(own, -1, &result));
    CHECK(result.as.i == 21);
    NOTHING(LG_E_ARGUMENT, lg_spawn(domain, workers, 0, NULL, NULL));
    NOTHING(LG_E_HANDLE, lg_spawn(NULL, workers, 0, work, NULL));
    own = lg_spawn(domain, workers, 0, work, &pointer);
    STATUS(LG_OK, lg_workers_finish(workers));
    STATUS(LG_OK, lg_async_wait(own, 0, &result));
    NOTHING(LG_E_HANDLE, lg_call_async(same, workers, 0, &argument, 1));
    workers = lg_workers_new(2, 10);
    busy = lg_call_async(spin, workers, 0, NULL, 0);
    STATUS(LG_OK, lg_workers_free(workers));
    STATUS(LG_E_CANCELLED, lg_async_wait(busy, -1, NULL));
}

static lg_function *inside;
static pthread_barrier_t barrier;

static int hold(int x) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return x;
}

static int again(int x) {
    int (*same)(int) = *(int (**)(int))lg_user_data();
    same(x);
    FAILED(LG_E_DEADLOCK);
    return x;
}

static void *enter(void *callback) {
    int (*apply)(void *, int) = POINTER(int (*)(void *, int), inside);
    CHECK(apply(callback, 1) == 2);
    RETURNED();
    return NULL;
}

static void exclusive(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_exclusive(options, 1));
    STATUS(LG_OK, lg_options_thread_limit(options, 2));
    lg_domain *domain = new_domain(module, options);
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
    int (*apply)(void *, int) = POINTER(int (*)(void *, int), inside = bind(domain, "apply"));
    lg_callback *wait = lg_callback_new(domain, "int hold(int)", (lg_code)hold, NULL);
    lg_callback *re_enter = lg_callback_new(domain, "int again(int)", (lg_code)again, &same);
    CHECK(apply(lg_callback_pointer(re_enter), 1) == 2);
    pthread_t thread;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, enter, lg_callback_pointer(wait)) == 0);
    pthread_barrier_wait(&barrier);
    same(1);
    FAILED(LG_E_BUSY);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    STATUS(LG_OK, lg_options_exclusive(options, -1));
    CHECK(lg_domain_new(module, options));
}

static int add(int a, int b) {
    return a + b;
}

/* Threads that the module has started wait for their turn as long as it takes: nobody is told, and nothing ends. */
static void guest_threads_wait(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_exclusive(options, 20));
    STATUS(LG_OK, lg_options_max_guest_threads(options, 4));
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)add, NULL));
    lg_domain *domain = new_domain(module, options);
    CHECK(POINTER(int (*)(int), bind(domain, "start_users"))(4) == 4);
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
    do
        same(1);
    while (!lg_failed()); /* until one of them has its turn, which it keeps */
    FAILED(LG_E_BUSY);
    for (int i = 0; i < 10; i++) { /* longer than the others would be patient */
        same(1);
        FAILED(LG_E_BUSY);
    }
    STATUS(LG_OK, lg_domain_guest_threads_fault(domain));
    STATUS(LG_OK, lg_domain_close(domain));
    STATUS(LG_OK, lg_options_free(options));
}

/* A function of the host's ends threads that the module has started: by pthread_exit, or where they find out that they were cancelled. */
static int end_thread(int how, int unused) {
    (void)unused;
    CHECK(lg_is_modules_thread());
    if (how == 0)
        pthread_exit(NULL);
    CHECK(pthread_cancel(pthread_self()) == 0);
    pthread_testcancel();
    return 0;
}

static void guest_threads_end(void) {
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        lg_options *options = lg_options_new();
        if (exclusive)
            STATUS(LG_OK, lg_options_exclusive(options, 20000));
        STATUS(LG_OK, lg_options_max_guest_threads(options, 4));
        STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)end_thread, NULL));
        lg_domain *domain = new_domain(module, options);
        int (*start)(int, int) = POINTER(int (*)(int, int), bind(domain, "start_ending"));
        int (*join)(int) = POINTER(int (*)(int), bind(domain, "join_ending"));
        for (int how = 0; how < 6; how++) {
            CHECK(start(how % 2, 4) == 4);
            lg_usage usage;
            do /* In an exclusive domain they end between calls. */
                STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
            while (usage.threads > 1);
            CHECK(join(4) == 4);
            RETURNED();
        }
        STATUS(LG_OK, lg_domain_guest_threads_fault(domain));
        STATUS(LG_OK, lg_domain_close(domain));
        STATUS(LG_OK, lg_options_free(options));
    }
}

/* A handler of the program's ends its thread, which waits in a domain, or for one: by pthread_exit, or where it finds out that it was
 * cancelled. Nothing else ends; the program's own frames are unwound, with signals as they are in handlers. */
static struct {
    int (*function)(int);
    int argument;
    int signal;
    sem_t begun;
    pid_t number;
} waiting;
static int cleaned_up;

static void end_in_handler(int signal) {
    (void)signal;
    pthread_testcancel();
    pthread_exit((void *)5);
}

static void clean_up(void *times) {
    sigset_t now;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
    CHECK(sigismember(&now, waiting.signal) == 1 && sigismember(&now, SIGUSR2) == 0);
    CHECK(sigismember(&now, SIGTERM) == 0);
    *(int *)times += 1;
}

static void *wait_and_end(void *unused) {
    (void)unused;
    waiting.number = (pid_t)syscall(SYS_gettid);
    pthread_cleanup_push(clean_up, &cleaned_up);
    sem_post(&waiting.begun);
    waiting.function(waiting.argument);
    CHECK(!"a wait that nothing ends");
    pthread_cleanup_pop(0);
    return NULL;
}

/* Asleep in this system call. */
static int sleeps_in(pid_t number, long call) {
    char path[64];
    long current = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)number);
    FILE *file = fopen(path, "r");
    CHECK(file);
    int known = fscanf(file, "%ld", &current);
    fclose(file);
    return known == 1 && current == call;
}

/* `how`: by pthread_exit, by a cancellation, by pthread_exit in a handler for faults. `holds`: who has the domain that the thread waits for;
 * C++, whose clean-up handlers are destructors, finds the frames that wait for it, but not those behind a domain's own. */
static void end_waiting(int (*function)(int), int argument, long call, int how, sem_t *holds) {
    int cancels = how == 1;
    pthread_t thread;
    void *result = NULL;
    waiting.function = function;
    waiting.argument = argument;
    waiting.signal = how == 2 ? SIGFPE : SIGUSR1;
    cleaned_up = 0;
    CHECK(sem_init(&waiting.begun, 0, 0) == 0 && pthread_create(&thread, NULL, wait_and_end, NULL) == 0);
    while (sem_wait(&waiting.begun) != 0)
        ;
    do
        sched_yield();
    while (!sleeps_in(waiting.number, call));
    if (cancels)
        CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_kill(thread, waiting.signal) == 0);
    if (holds) /* the thread cleans up in the domain when it ends */
        CHECK(sem_post(holds) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == (cancels ? PTHREAD_CANCELED : (void *)5));
#ifdef __cplusplus
    CHECK(cleaned_up == (holds != NULL));
#else
    CHECK(cleaned_up == 1);
#endif
}

static sem_t kept_inside;
static int keep_inside(int a, int b) {
    (void)b;
    while (sem_wait(&kept_inside) != 0)
        ;
    return a;
}

static void *call_inside(void *function) {
    CHECK((*(int (**)(int))function)(3) == 3);
    return NULL;
}

/* For ThreadSanitizer such a thread is in the handler to its end. */
#ifdef __SANITIZE_THREAD__
enum { THREADS_END_IN_HANDLERS = 0 };
#else
enum { THREADS_END_IN_HANDLERS = 1 };
#endif

static void waits_end(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end_in_handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGFPE, &action, NULL) == 0);
    static const long calls[] = {SYS_futex, SYS_futex, SYS_ppoll};
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (int limited = 0; limited < 2; limited++) {
        lg_options *options = lg_options_new();
        if (limited)
            STATUS(LG_OK, lg_options_time_limit(options, 60000));
        STATUS(LG_OK, lg_options_stream(options, 0, ends[0]));
        lg_domain *domain = new_domain(module, options);
        int (*wait)(int) = POINTER(int (*)(int), bind(domain, "wait_for"));
        int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
        for (int what = 0; what < 3; what++)
            for (int how = 0; how < 3; how++)
                end_waiting(wait, what, calls[what], how, NULL);
        lg_usage usage;
        STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
        CHECK(usage.threads == 1 && usage.calls == 0 && same(7) == 7);
        STATUS(LG_OK, lg_domain_close(domain));
        STATUS(LG_OK, lg_options_free(options));
    }
    close(ends[0]);
    close(ends[1]);

    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_exclusive(options, -1));
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)keep_inside, NULL));
    lg_domain *domain = new_domain(module, options);
    int (*call)(int) = POINTER(int (*)(int), bind(domain, "keep_busy"));
    pthread_t holder;
    CHECK(sem_init(&kept_inside, 0, 0) == 0);
    for (int how = 0; how < 3; how++) {
        CHECK(pthread_create(&holder, NULL, call_inside, &call) == 0);
        lg_usage usage;
        do
            STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
        while (usage.calls == 0);
        end_waiting(call, 3, SYS_futex, how, &kept_inside);
        CHECK(pthread_join(holder, NULL) == 0);
    }
    CHECK(sem_post(&kept_inside) == 0 && call(8) == 8);
    STATUS(LG_OK, lg_domain_close(domain));
    STATUS(LG_OK, lg_options_free(options));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR && signal(SIGFPE, SIG_DFL) != SIG_ERR);
}

/* The same of threads that have just begun their first call: wherever it comes, the domain lets the next one in. */
static int (*first_call)(int);
static void *call_until_ended(void *microseconds) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec once = {{0, 0}, {0, (long)microseconds * 1000}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &once, NULL) == 0);
    for (;;)
        first_call(1);
    return NULL;
}

static void beginners_end(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end_in_handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    lg_domain *domain = new_domain(module, NULL);
    first_call = POINTER(int (*)(int), bind(domain, "same"));
    CHECK(first_call(7) == 7);
    alarm(100); /* one that does not end ends the program */
    for (long i = 0; i < 400; i++) {
        pthread_t thread;
        void *result = NULL;
        CHECK(pthread_create(&thread, NULL, call_until_ended, (void *)(1 + i % 100)) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == (void *)5);
    }
    alarm(0);
    lg_usage usage;
    STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
    CHECK(usage.threads == 1 && usage.calls == 0 && first_call(8) == 8);
    STATUS(LG_OK, lg_domain_close(domain));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

/* What a worker runs of the program's may end its thread, and so may what is told that a call has ended. */
static int leave_work(void *how) {
    if (how) {
        CHECK(pthread_cancel(pthread_self()) == 0);
        pthread_testcancel();
    }
    pthread_exit(NULL);
    return 1;
}

static void leave_notify(void *told) {
    sem_post((sem_t *)told);
    pthread_exit(NULL);
}

static sem_t cancelled_now;
static int go_on(void *begun) {
    sem_post((sem_t *)begun);
    while (sem_wait(&cancelled_now) != 0)
        ;
    return 6;
}

static void until_told(sem_t *told, int times) {
    while (times > 0)
        times -= sem_wait(told) == 0;
}

static void lost_work(void) {
    lg_workers *workers = lg_workers_new(1, 4);
    lg_domain *domain = new_domain(module, NULL);
    lg_value result = signed_value(0), argument = signed_value(7);
    lg_function *same = bind(domain, "same");
    for (int i = 0; i < 4; i++) {
        lg_async *lost = lg_spawn(domain, workers, 0, leave_work, i % 2 ? &result : NULL);
        lg_async *next = lg_call_async(same, workers, 0, &argument, 1);
        CHECK(lost && next);
        STATUS(LG_E_CALLBACK, lg_async_wait(lost, 60000, &result));
        STATUS(LG_OK, lg_async_wait(next, 60000, &result));
        CHECK(result.as.i == 7);
    }
    sem_t told, begun;
    CHECK(sem_init(&told, 0, 0) == 0 && sem_init(&begun, 0, 0) == 0 && sem_init(&cancelled_now, 0, 0) == 0);
    /* On a worker, for several; on the timekeeper, which goes on. */
    for (int i = 0; i < 3; i++) {
        lg_async *first = lg_spawn(domain, workers, 0, go_on, &begun);
        until_told(&begun, 1);
        lg_async *waits = lg_call_async(same, workers, 10, &argument, 1);
        for (int leaves = 0; leaves < 6; leaves++)
            STATUS(LG_OK, lg_async_notify(waits, leave_notify, &told));
        STATUS(LG_OK, lg_async_notify(waits, post, &told));
        until_told(&told, 7);
        STATUS(LG_E_DEADLINE, lg_async_wait(waits, 0, &result));
        for (int leaves = 0; leaves < 6; leaves++)
            STATUS(LG_OK, lg_async_notify(first, leave_notify, &told));
        STATUS(LG_OK, lg_async_notify(first, post, &told));
        sem_post(&cancelled_now);
        STATUS(LG_OK, lg_async_wait(first, 60000, &result));
        CHECK(result.as.i == 6);
        until_told(&told, 7);
    }
    /* What comes to its end although it was cancelled was cancelled. */
    lg_async *stopped = lg_spawn(domain, workers, 0, go_on, &begun);
    until_told(&begun, 1);
    STATUS(LG_OK, lg_async_cancel(stopped));
    sem_post(&cancelled_now);
    STATUS(LG_E_CANCELLED, lg_async_wait(stopped, 60000, &result));
    stopped = lg_spawn(domain, workers, 0, go_on, &begun);
    until_told(&begun, 1);
    sem_post(&cancelled_now);
    STATUS(LG_OK, lg_async_wait(stopped, 60000, &result));
    STATUS(LG_OK, lg_async_cancel(stopped)); /* too late */
    STATUS(LG_OK, lg_workers_finish(workers));
}

static int leave_worker(int x) {
    pthread_exit(NULL);
    return x;
}

/* A function that a domain has called may leave by pthread_exit on a worker, too: its call ends, and another worker takes the place. */
static void lost_workers(void) {
    lg_workers *workers = lg_workers_new(1, 4);
    lg_domain *domain = new_domain(module, NULL);
    lg_callback *callback = lg_callback_new(domain, "int leave_worker(int)", (lg_code)leave_worker, NULL);
    lg_function *apply = bind(domain, "int apply(int (*)(int), int)"), *same = bind(domain, "same");
    lg_value arguments[] = {{LG_POINTER, {0}, {NULL, 0}}, signed_value(7)}, result = signed_value(0);
    arguments[0].as.p = lg_callback_pointer(callback);
    for (int i = 0; i < 3; i++) {
        lg_async *lost = lg_call_async(apply, workers, 0, arguments, 2), *next = lg_call_async(same, workers, 0, &arguments[1], 1);
        CHECK(lost && next);
        STATUS(LG_E_CALLBACK, lg_async_wait(lost, 60000, &result));
        SAYS("ended the worker's thread");
        STATUS(LG_OK, lg_async_wait(next, 60000, &result));
        CHECK(result.as.i == 7);
        STATUS(LG_OK, lg_async_free(lost));
        STATUS(LG_OK, lg_async_free(next));
    }
    lg_async *last = lg_call_async(apply, workers, 0, arguments, 2);
    STATUS(LG_OK, lg_workers_finish(workers));
    STATUS(LG_E_CALLBACK, lg_async_wait(last, 0, &result));
    workers = lg_workers_new(2, 4);
    CHECK(lg_call_async(apply, workers, 0, arguments, 2));
    STATUS(LG_OK, lg_workers_free(workers));
    /* None of those calls keeps the domain. */
    STATUS(LG_OK, lg_function_free(apply));
    STATUS(LG_OK, lg_function_free(same));
    STATUS(LG_OK, lg_callback_free(callback));
    STATUS(LG_OK, lg_domain_reset(domain));
}

static int (*limited)(int);
static void *too_many(void *argument) {
    limited(1);
    FAILED(LG_E_THREADS);
    return argument;
}

static int nest(int depth) {
    long (*nested)(void *, int) = *(long (**)(void *, int))lg_user_data();
    long result = nested(NULL, depth);
    if (lg_failed()) {
        STATUS(LG_E_DEPTH, lg_take_call_error());
        return -1;
    }
    return (int)result;
}

static void other_limits(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_thread_limit(options, 1));
    STATUS(LG_OK, lg_options_depth_limit(options, 1));
    lg_domain *domain = new_domain(module, options);
    limited = POINTER(int (*)(int), bind(domain, "same"));
    CHECK(limited(1) == 1);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, too_many, NULL) == 0);
    pthread_join(thread, NULL);
    long (*nested)(void *, int) = POINTER(long (*)(void *, int), bind(domain, "nested"));
    lg_callback *back = lg_callback_new(domain, "int nest(int)", (lg_code)nest, &nested);
    CHECK(nested(lg_callback_pointer(back), 1) == -1);
    RETURNED();
}

static void *everything(void *argument) {
    lg_domain *domain = (lg_domain *)argument;
    for (int i = 0; i < 200; i++) {
        lg_function *same = lg_bind(domain, "same", LG_DEFAULT);
        CHECK(POINTER(int (*)(int), same)(i) == i);
        STATUS(LG_OK, lg_function_free(same));
        lg_function *crash = lg_bind(domain, "crash", LG_DEFAULT);
        POINTER(void (*)(int *), crash)(NULL);
        FAILED(LG_E_FAULT);
        STATUS(LG_OK, lg_function_free(crash));
        CHECK(!lg_module_open("garbage.lg") && lg_last_status() == LG_E_PARSE);
        lg_region *region = lg_region_new(4096);
        STATUS(LG_OK, lg_region_free(region));
    }
    return NULL;
}

static void many(void) {
    lg_domain *domain = new_domain(module, NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, everything, domain) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    STATUS(LG_OK, lg_domain_free(domain));
}

#ifndef __SANITIZE_ADDRESS__
/* A thread that first calls a domain when its variables' destructors are over leaves it all the same. */
static int (*late_same)(int);

static void call_late(void *unused) {
    (void)unused;
    CHECK(late_same(7) == 7);
    RETURNED();
}

static void *late_thread(void *key) {
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

static void late(void) {
    lg_domain *domain = new_domain(module, NULL);
    late_same = POINTER(int (*)(int), bind(domain, "same"));
    pthread_key_t key;
    CHECK(pthread_key_create(&key, call_late) == 0);
    lg_usage before, after;
    STATUS(LG_OK, lg_domain_usage(domain, &before, sizeof before));
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, late_thread, &key) == 0);
        pthread_join(thread, NULL);
    }
    STATUS(LG_OK, lg_domain_usage(domain, &after, sizeof after));
    CHECK(after.threads == before.threads);
    pthread_key_delete(key);
}
#endif

/* A thread that was cancelled, and has not come to a point where it finds out: not in the library, which goes on. */
static lg_function *crashes;

static void *cancelled(void *passed) {
    void (*crash)(int *) = POINTER(void (*)(int *), crashes);
    CHECK(pthread_cancel(pthread_self()) == 0);
    crash(NULL);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault() && lg_last_fault()->reason);
    lg_module *own = open_module("guest.lg");
    lg_domain *domain = new_domain(own, NULL);
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
    CHECK(same(7) == 7);
    STATUS(LG_OK, lg_domain_free(domain));
    STATUS(LG_OK, lg_module_free(own));
    *(int *)passed = 1;
    pthread_testcancel();
    CHECK(!"a point where it finds out");
    return NULL;
}

static void cancellation(void) {
    lg_domain *domain = new_domain(module, NULL);
    crashes = bind(domain, "crash");
    int passed = 0;
    void *end;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, cancelled, &passed) == 0);
    CHECK(pthread_join(thread, &end) == 0);
    CHECK(passed && end == PTHREAD_CANCELED);
    STATUS(LG_OK, lg_function_free(crashes));
    STATUS(LG_OK, lg_domain_free(domain));
}

/* What a program does when it exits may call domains, too. */
static int (*same_at_exit)(int);

static void at_exit(void) {
    if (same_at_exit(7) != 7 || lg_take_call_error() != LG_OK) {
        fprintf(stderr, "a call in a handler of atexit: %s\n", lg_last_message());
        _exit(1);
    }
    /* And what fails says why. */
    if (lg_module_open("/nonexistent.lg") || !strstr(lg_last_message(), "nonexistent"))
        _exit(2);
    _exit(0);
}

int main(void) {
    module = open_module("guest.lg");
    cancellation();
#ifndef __SANITIZE_ADDRESS__
    late(); /* libc never frees what it notes of thread-local variables that are first used so late: 64 bytes for each thread */
#endif
    asynchronous();
    exclusive();
    guest_threads_wait();
    guest_threads_end();
    lost_workers();
    lost_work();
    if (THREADS_END_IN_HANDLERS) {
        waits_end();
        beginners_end();
    }
    other_limits();
    many();
    same_at_exit = POINTER(int (*)(int), bind(new_domain(module, NULL), "same"));
    CHECK(same_at_exit(1) == 1 && atexit(at_exit) == 0);
    return 3; /* unless the handler is called */
}
