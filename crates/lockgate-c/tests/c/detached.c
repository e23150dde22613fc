/* Calls that go on without their callers, and their end by whatever ends them. */
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct large {
    long numbers[5];
} large;
typedef void (*crash_type)(int *);
typedef int (*apply_type)(int *, void *, int);
typedef int (*same_type)(int);

#define FILL "struct { long numbers[5]; } fill_later(int *, int *)"
#define APPLY "int apply_later(int *, void *, int)"
#define MILLISECONDS 20

static lg_module *module;

static lg_usage usage_of(lg_domain *domain) {
    lg_usage usage;
    STATUS(LG_OK, lg_domain_usage(domain, &usage, sizeof usage));
    return usage;
}

/* Until the first `calls` of those that went on have ended. */
static void await_settled(lg_domain *domain, uint64_t calls) {
    while (usage_of(domain).detached_settled < calls)
        sched_yield();
}

/* A word of the domain's. */
static int *word_of(lg_domain *domain, int value) {
    int *at = (int *)lg_memory_alloc_copy(domain, &value, sizeof value);
    CHECK(at);
    return at;
}

static int value_of(lg_domain *domain, int *at) {
    int value;
    STATUS(LG_OK, lg_memory_read(domain, &value, at, sizeof value));
    return value;
}

static void let_go(lg_domain *domain, int *go) {
    int one = 1;
    STATUS(LG_OK, lg_memory_write(domain, go, &one, sizeof one));
}

static lg_function *detaching(lg_domain *domain, const char *prototype) {
    lg_function *function = lg_bind_within(domain, prototype, LG_DEFAULT, MILLISECONDS, LG_DETACH);
    CHECK(function);
    return function;
}

/* Leaves a call behind that waits for `go`. */
static void leave(lg_domain *domain, int *go) {
    lg_function *function = detaching(domain, "void crash_later(int *)");
    POINTER(crash_type, function)(go);
    FAILED(LG_E_DETACHED);
    STATUS(LG_OK, lg_function_free(function));
}

static int may_be_reset(lg_domain *domain) {
    lg_status status = lg_domain_reset(domain);
    CHECK(status == LG_OK || status == LG_E_IN_USE);
    return status == LG_OK;
}

/* What FILL is called with, and where its result goes. */
static void fill_with(lg_value arguments[2], lg_value *result, int *go, int *to, large *room) {
    memset(arguments, 0, 2 * sizeof *arguments);
    memset(result, 0, sizeof *result);
    arguments[0].type = arguments[1].type = LG_POINTER;
    arguments[0].as.p = go;
    arguments[1].as.p = to;
    result->type = LG_STRUCT;
    result->bytes.at = room;
    result->bytes.size = sizeof *room;
}

/* The caller's memory is its own from the error on, and the call's is the call's. */
static void goes_on(void) {
    lg_domain *domain = new_domain(module, NULL);
    int *go = word_of(domain, 0), *to = word_of(domain, 1);
    large room;
    memset(&room, 0x5a, sizeof room);
    const large before = room;
    lg_value arguments[2], result;
    fill_with(arguments, &result, go, to, &room);
    lg_function *fill = detaching(domain, FILL);
    STATUS(LG_E_DETACHED, lg_call(fill, arguments, 2, &result));
    SAYS("goes on without its caller");
    CHECK(lg_last_fault() == NULL);
    CHECK(strcmp(lg_status_name(LG_E_DETACHED), "LG_E_DETACHED") == 0);
    lg_usage usage = usage_of(domain);
    CHECK(usage.detached == 1 && usage.detached_ended == 0 && usage.detached_settled == 0 && usage.threads == 1);
    STATUS(LG_OK, lg_function_free(fill));
    STATUS(LG_E_IN_USE, lg_domain_reset(domain));
    CHECK(value_of(domain, to) == 1);
    let_go(domain, go);
    await_settled(domain, 1);
    CHECK(value_of(domain, to) == 7);
    CHECK(memcmp(&room, &before, sizeof room) == 0);
    usage = usage_of(domain);
    CHECK(usage.detached == 0 && usage.detached_ended == 1 && usage.detached_failed == 0);
    STATUS(LG_OK, lg_domain_detached_fault(domain));
    /* (Its thread leaves the domain a moment later.) */
    while (!may_be_reset(domain))
        sched_yield();
    CHECK(usage_of(domain).detached_settled == 0);
    STATUS(LG_OK, lg_domain_free(domain));
}

/* A structure by value is on the call's stack, which goes with it, whoever makes the call: the program's own is the program's again. */
static void has_its_arguments(int by_workers) {
    lg_domain *domain = new_domain(module, NULL);
    int *go = word_of(domain, 0), *to = word_of(domain, 1);
    lg_workers *workers = lg_workers_new(1, 10);
    large given = {{1, 2, 3, 4, 5}};
    lg_value arguments[3];
    memset(arguments, 0, sizeof arguments);
    arguments[0].type = arguments[2].type = LG_POINTER;
    arguments[0].as.p = go;
    arguments[1].type = LG_STRUCT;
    arguments[1].bytes.at = &given;
    arguments[1].bytes.size = sizeof given;
    arguments[2].as.p = to;
    lg_function *add = detaching(domain, "void add_later(int *, struct { long numbers[5]; }, int *)");
    if (by_workers) {
        lg_async *call = lg_call_async(add, workers, 0, arguments, 3);
        CHECK(call);
        memset(&given, 0x5a, sizeof given);
        STATUS(LG_E_DETACHED, lg_async_wait(call, -1, NULL));
        STATUS(LG_OK, lg_async_free(call));
    } else {
        STATUS(LG_E_DETACHED, lg_call(add, arguments, 3, NULL));
        memset(&given, 0x5a, sizeof given);
    }
    STATUS(LG_OK, lg_function_free(add));
    /* The next calls of the same thread have other stacks. */
    lg_function *fill = bind(domain, "struct { long numbers[5]; } fill(long)");
    lg_value from = signed_value(9), result = {LG_STRUCT, {0}, {&given, sizeof given}};
    for (int i = 0; i < 10; i++) {
        if (by_workers) {
            lg_async *call = lg_call_async(fill, workers, 0, &from, 1);
            STATUS(LG_OK, lg_async_wait(call, -1, &result));
            STATUS(LG_OK, lg_async_free(call));
        } else
            STATUS(LG_OK, lg_call(fill, &from, 1, &result));
    }
    let_go(domain, go);
    await_settled(domain, 1);
    CHECK(value_of(domain, to) == 15);
    STATUS(LG_OK, lg_function_free(fill));
    STATUS(LG_OK, lg_workers_finish(workers));
    STATUS(LG_OK, lg_domain_free(domain));
}

/* Standing memory, blocks and rings among it, is the domain's until the program takes it away, whatever becomes of a call. */
static void has_an_arena(void) {
    lg_domain *domain = new_domain(module, NULL);
    lg_arena *arena = lg_arena_new(1 << 16);
    CHECK(lg_arena_open(arena, domain, LG_READ_WRITE));
    int *go = (int *)lg_arena_alloc(arena, sizeof *go), *to = (int *)lg_arena_alloc(arena, sizeof *to);
    *go = 0, *to = 1;
    lg_value arguments[2], result;
    large room;
    memset(arguments, 0, sizeof arguments);
    memset(&result, 0, sizeof result);
    arguments[0].type = arguments[1].type = LG_POINTER;
    arguments[0].as.p = lg_arena_pointer(domain, go, sizeof *go, LG_READ_WRITE);
    arguments[1].as.p = lg_arena_pointer(domain, to, sizeof *to, LG_READ_WRITE);
    CHECK(arguments[0].as.p && arguments[1].as.p);
    result.type = LG_STRUCT;
    result.bytes.at = &room;
    result.bytes.size = sizeof room;
    lg_function *fill = detaching(domain, FILL);
    STATUS(LG_E_DETACHED, lg_call(fill, arguments, 2, &result));
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    await_settled(domain, 1);
    CHECK(__atomic_load_n(to, __ATOMIC_ACQUIRE) == 7 && usage_of(domain).detached_failed == 0);
    /* One that is shut meanwhile ends the call by its own access, and no other. */
    *go = 0;
    STATUS(LG_E_DETACHED, lg_call(fill, arguments, 2, &result));
    STATUS(LG_OK, lg_arena_shut(arena, domain));
    await_settled(domain, 2);
    STATUS(LG_E_FAULT, lg_domain_detached_fault(domain));
    CHECK(lg_last_fault()->kind == LG_FAULT_SEGV && *to == 7);
    STATUS(LG_OK, lg_function_free(fill));
    STATUS(LG_OK, lg_arena_close(arena));
    STATUS(LG_OK, lg_domain_free(domain));
}

/* In the order in which they were left: the first one holds back what is said of those behind it. */
static void settles_in_order(void) {
    lg_domain *domain = new_domain(module, NULL);
    int *first = word_of(domain, 0), *second = word_of(domain, 0);
    leave(domain, first);
    leave(domain, second);
    let_go(domain, second);
    while (usage_of(domain).detached_ended < 1)
        sched_yield();
    lg_usage usage = usage_of(domain);
    CHECK(usage.detached == 1 && usage.detached_settled == 0 && usage.detached_failed == 1);
    STATUS(LG_E_FAULT, lg_domain_detached_fault(domain));
    CHECK(lg_last_fault()->kind == LG_FAULT_SEGV && strcmp(lg_last_fault()->function, "crash_later") == 0);
    let_go(domain, first);
    await_settled(domain, 2);
    /* The faults were theirs alone. */
    lg_function *same = bind(domain, "int same(int)");
    CHECK(POINTER(same_type, same)(3) == 3);
    RETURNED();
    STATUS(LG_OK, lg_function_free(same));
    STATUS(LG_OK, lg_domain_free(domain));
}

static void timed_out(void) {
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_TIME_OUT);
}

static int lasts(int x) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 3 * MILLISECONDS);
    return x;
}

/* Where something of the call is another's, and where the program asks for no detachment. */
static void is_stopped(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_detached_limit(options, 0));
    STATUS(LG_E_HANDLE, lg_options_detached_limit((lg_options *)module, 1));
    lg_domain *unwilling = new_domain(module, options), *domain = new_domain(module, NULL);
    STATUS(LG_OK, lg_options_free(options));
    NOTHING(LG_E_ARGUMENT, lg_bind_within(domain, "int same(int)", LG_DEFAULT, 1, (lg_expiry)2));
    NOTHING(LG_E_ARGUMENT, lg_bind_within(domain, "int same(int)", (lg_policy)8, 1, LG_STOP));
    NOTHING(LG_E_ARGUMENT, lg_bind_within(domain, NULL, LG_DEFAULT, 1, LG_STOP));
    NOTHING(LG_E_MISSING, lg_bind_within(domain, "int sane(int)", LG_DEFAULT, 1, LG_STOP));
    STATUS(LG_E_HANDLE, lg_domain_detached_fault(NULL));

    int *never = word_of(unwilling, 0);
    lg_function *crash = detaching(unwilling, "void crash_later(int *)");
    POINTER(crash_type, crash)(never);
    timed_out();
    CHECK(usage_of(unwilling).detached_ended == 0);

    int *go = word_of(domain, 0), *now = word_of(domain, 1);
    lg_function *stops = lg_bind_within(domain, "void crash_later(int *)", LG_DEFAULT, MILLISECONDS, LG_STOP);
    POINTER(crash_type, stops)(go);
    timed_out();

    lg_callback *callback = lg_callback_new(domain, "int f(int)", (lg_code)lasts, NULL);
    lg_function *apply = detaching(domain, APPLY);
    POINTER(apply_type, apply)(now, lg_callback_pointer(callback), 1);
    timed_out();

    lg_region *region = lg_region_new(4096);
    lg_grant *lent = lg_lend(domain, region, LG_READ_WRITE);
    CHECK(lent);
    crash = detaching(domain, "void crash_later(int *)");
    POINTER(crash_type, crash)(go);
    timed_out();
    CHECK(usage_of(domain).detached_ended == 0 && usage_of(domain).detached == 0);
    /* Until it is given back, and no longer. */
    STATUS(LG_OK, lg_grant_free(lent));
    leave(domain, go);
    STATUS(LG_OK, lg_domain_close(domain));
    STATUS(LG_OK, lg_domain_close(unwilling));
}

/* What nothing waits for has a limit, of which only the domain knows. */
static void has_a_limit(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_detached_limit(options, MILLISECONDS));
    lg_domain *domain = new_domain(module, options);
    STATUS(LG_OK, lg_options_free(options));
    leave(domain, word_of(domain, 0));
    await_settled(domain, 1);
    STATUS(LG_E_FAULT, lg_domain_detached_fault(domain));
    CHECK(lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    CHECK(usage_of(domain).detached_failed == 1);
    STATUS(LG_OK, lg_domain_free(domain));
}

static pthread_t callers;
static int called;

static int called_back(int x) {
    CHECK(lg_is_modules_thread() == 1 && !pthread_equal(pthread_self(), callers));
    __atomic_store_n(&called, 1, __ATOMIC_RELEASE);
    return lg_end_call("the host ends it") == LG_OK ? x : -1;
}

/* A call that goes on calls the host on its own thread, which may end it. */
static void calls_the_host(void) {
    lg_domain *domain = new_domain(module, NULL);
    int *go = word_of(domain, 0);
    callers = pthread_self();
    lg_callback *callback = lg_callback_new(domain, "int f(int)", (lg_code)called_back, NULL);
    lg_function *apply = detaching(domain, APPLY);
    POINTER(apply_type, apply)(go, lg_callback_pointer(callback), 1);
    FAILED(LG_E_DETACHED);
    CHECK(lg_is_modules_thread() == 0);
    let_go(domain, go);
    await_settled(domain, 1);
    CHECK(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 1);
    CHECK(usage_of(domain).detached_failed == 1);
    STATUS(LG_OK, lg_domain_detached_fault(domain)); /* (No fault.) */
    STATUS(LG_OK, lg_callback_free(callback));
    STATUS(LG_OK, lg_function_free(apply));
    STATUS(LG_OK, lg_domain_free(domain));
}

/* Each has a place, and the caller is told when none is left. */
static void reaches_the_limit_of_threads(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_thread_limit(options, 3));
    lg_domain *domain = new_domain(module, options);
    STATUS(LG_OK, lg_options_free(options));
    int *go = word_of(domain, 0);
    lg_function *crash = detaching(domain, "void crash_later(int *)");
    for (int i = 0; i < 3; i++) {
        POINTER(crash_type, crash)(go);
        FAILED(LG_E_DETACHED);
    }
    POINTER(crash_type, crash)(go);
    FAILED(LG_E_THREADS);
    SAYS("threads");
    CHECK(usage_of(domain).detached == 3 && usage_of(domain).threads == 3);
    let_go(domain, go);
    await_settled(domain, 3);
    lg_function *same = bind(domain, "int same(int)");
    int got;
    do
        got = POINTER(same_type, same)(4);
    while (lg_failed() && lg_take_call_error() == LG_E_THREADS);
    CHECK(got == 4);
    STATUS(LG_OK, lg_domain_close(domain));
}

/* The domain ends in the middle, in each way in which it can, and the registry's as well. */
static void ends_with_the_domain(void) {
    lg_domain *killed = new_domain(module, NULL), *closed = new_domain(module, NULL), *freed = new_domain(module, NULL);
    leave(killed, word_of(killed, 0));
    STATUS(LG_OK, lg_domain_kill(killed));
    await_settled(killed, 1);
    CHECK(usage_of(killed).detached_failed == 1);
    STATUS(LG_OK, lg_domain_free(killed));
    leave(closed, word_of(closed, 0));
    STATUS(LG_OK, lg_domain_close(closed));
    leave(freed, word_of(freed, 0));
    STATUS(LG_OK, lg_domain_free(freed));

    lg_pool *pool = lg_pool_new(module, NULL, 1);
    lg_domain *taken = lg_pool_take(pool);
    CHECK(taken);
    leave(taken, word_of(taken, 0));
    STATUS(LG_OK, lg_domain_free(taken));
    CHECK(lg_pool_ready(pool) == 0);
    STATUS(LG_OK, lg_pool_free(pool));

    lg_registry *registry = lg_registry_new();
    lg_domain *server = new_domain(module, NULL);
    lg_export *of = lg_export_new("crash", 1, 0);
    STATUS(LG_OK, lg_export_of(of, "void crash_later(int *)"));
    STATUS(LG_OK, lg_export_allow_everyone(of));
    STATUS(LG_OK, lg_registry_export(registry, server, of));
    lg_request *request = lg_request_newest("crash");
    STATUS(LG_E_ARGUMENT, lg_request_within(request, 1, (lg_expiry)-1));
    STATUS(LG_OK, lg_request_within(request, MILLISECONDS, LG_DETACH));
    lg_principal *process = lg_principal_process();
    lg_function *crash = lg_registry_bind(registry, process, request);
    CHECK(crash);
    POINTER(crash_type, crash)(word_of(server, 0));
    FAILED(LG_E_DETACHED);
    CHECK(usage_of(server).detached == 1);
    STATUS(LG_OK, lg_registry_remove(registry, lg_domain_name(server)));
    STATUS(LG_OK, lg_domain_free(server));
    STATUS(LG_OK, lg_registry_free(registry));
}

/* A child has the domain's memory, and not the call: that is the parent's, and goes on there. */
static void forks(void) {
    lg_domain *domain = new_domain(module, NULL);
    int *go = word_of(domain, 0), *to = word_of(domain, 1);
    lg_function *fill = detaching(domain, FILL);
    lg_value arguments[2], result;
    large room;
    fill_with(arguments, &result, go, to, &room);
    STATUS(LG_E_DETACHED, lg_call(fill, arguments, 2, &result));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        lg_usage usage;
        STATUS(LG_E_FORKED, lg_domain_usage(domain, &usage, sizeof usage));
        STATUS(LG_E_FORKED, lg_domain_detached_fault(domain));
        STATUS(LG_E_FORKED, lg_call(fill, arguments, 2, &result));
        exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(usage_of(domain).detached == 1);
    let_go(domain, go);
    await_settled(domain, 1);
    CHECK(value_of(domain, to) == 7 && usage_of(domain).detached_failed == 0);
    STATUS(LG_OK, lg_function_free(fill));
    STATUS(LG_OK, lg_domain_free(domain));
}

int main(void) {
    alarm(300); /* (A call that no limit ends.) */
    module = open_module("guest.lg");
    goes_on();
    has_its_arguments(0);
    has_its_arguments(1);
    has_an_arena();
    settles_in_order();
    is_stopped();
    has_a_limit();
    calls_the_host();
    reaches_the_limit_of_threads();
    ends_with_the_domain();
    forks();
    /* The program's end ends what goes on. */
    lg_domain *domain = new_domain(module, NULL);
    leave(domain, word_of(domain, 0));
    return 0;
}
