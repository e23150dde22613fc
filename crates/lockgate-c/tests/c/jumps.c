/* A jump out of a function that a domain has called: whatever the program calls next, the calls that it has skipped are dropped first,
 * and with them their turn in an exclusive domain, what was lent for them, and an end that the function has asked for. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

static lg_module *module, *program_module;
static lg_region *region;
static lg_domain *left, *other, *served;
static lg_callback *callback;
static lg_pool *pool;
static void *library;
static int (*apply)(void *, int), (*left_same)(int), (*other_same)(int), (*forward)(int), (*local)(int);
static lg_function *same, *left_same_function;
static jmp_buf back;
static int ends;
static volatile lg_status turn;

static int leave(int x) {
    if (ends)
        STATUS(LG_OK, lg_end_call("it goes on elsewhere"));
    longjmp(back, 1);
    return x;
}

static int answer(int a, int b) { return a < 0 ? leave(a) : a + b; }
static void note(const char *text) { (void)text; }

static lg_options *options(void) {
    lg_options *made = lg_options_new();
    STATUS(LG_OK, lg_options_gate(made, "int host_add(int, int)", (lg_code)answer, NULL));
    STATUS(LG_OK, lg_options_gate(made, "void host_note(const char *)", (lg_code)note, NULL));
    return made;
}

/* Whether the left domain is free for another thread. */
static void *look(void *function) {
    (*(int (**)(int))function)(1);
    turn = lg_take_call_error();
    return function;
}

static lg_status turn_of(int (**function)(int)) {
    pthread_t id;
    CHECK(pthread_create(&id, NULL, look, function) == 0 && pthread_join(id, NULL) == 0);
    return turn;
}

static void is_left(const char *way, lg_grant *lent) {
    lg_usage usage;
    if (turn_of(&left_same))
        fprintf(stderr, "%s%s:\n", way, ends ? ", after lg_end_call()" : "");
    CHECK(turn == LG_OK);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(lent));
    STATUS(LG_OK, lg_domain_usage(left, &usage, sizeof usage));
    CHECK(usage.calls == 0);
    STATUS(LG_OK, lg_grant_free(lent));
    CHECK(left_same(7) == 7 && other_same(8) == 8);
    RETURNED();
}

/* The call, a jump out of it, and `what`, all from one function. */
#define WAY(name, what)                                                                                   \
    static void name(void) {                                                                              \
        lg_grant *volatile lent = lg_lend(left, region, LG_READ);                                         \
        CHECK(lent);                                                                                      \
        if (setjmp(back) == 0) {                                                                          \
            apply(lg_callback_pointer(callback), 1);                                                      \
            CHECK(!"the jump came back");                                                                 \
        }                                                                                                 \
        what;                                                                                             \
        is_left(#name, lent);                                                                             \
    }

static lg_value argument, result;
static lg_domain *domain;
static lg_usage usage;
static lg_workers *workers;
static lg_async *asynchronous;
static void *memory, *opened;
static lg_grant *grant;
static lg_options *made;
static int status;

WAY(by_pointer, CHECK(other_same(3) == 3); RETURNED())
WAY(by_call, STATUS(LG_OK, lg_call(same, &argument, 1, &result)); CHECK(result.as.i == 5))
WAY(by_alloc, CHECK((memory = lg_memory_alloc(other, 10))))
WAY(by_free, STATUS(LG_OK, lg_memory_free(other, memory)))
WAY(by_copy, CHECK((memory = lg_memory_alloc_copy(other, "text", 5))))
WAY(by_new, CHECK((domain = lg_domain_new(module, made))))
WAY(by_reset, STATUS(LG_OK, lg_domain_reset(domain)))
WAY(by_close, STATUS(LG_OK, lg_domain_close(domain)))
WAY(by_take, CHECK((domain = lg_pool_take(pool))))
WAY(by_handle, STATUS(LG_OK, lg_domain_free(domain)))
WAY(by_usage, STATUS(LG_OK, lg_domain_usage(other, &usage, sizeof usage)); CHECK(usage.calls == 0))
WAY(by_run, STATUS(LG_OK, lg_run(program_module, NULL, &status)))
WAY(by_restart, CHECK((domain = lg_registry_restart(LG_PROCESS_REGISTRY, "served"))))
WAY(by_lend, CHECK((grant = lg_lend(other, region, LG_READ))); STATUS(LG_OK, lg_grant_free(grant)))
WAY(by_open, CHECK((opened = lg_dlopen("./wild.lg", RTLD_NOW))))
WAY(by_dl_close, CHECK(lg_dlclose(opened) == 0))
WAY(by_open_with, CHECK((opened = lg_dlopen_with("./wild.lg", RTLD_NOW, NULL, 0))))
WAY(by_malloc, CHECK((memory = lg_malloc(library, 10))))
WAY(by_dl_free, CHECK(lg_free(library, memory) == 0))
/* What these wait for is a call that wants the left domain's turn, or would. */
WAY(by_wait, CHECK((asynchronous = lg_call_async(left_same_function, workers, 0, &argument, 1)));
    STATUS(LG_OK, lg_async_wait(asynchronous, -1, &result)))
WAY(by_finish, STATUS(LG_OK, lg_workers_finish(workers)))
WAY(by_workers, STATUS(LG_OK, lg_workers_free(workers)))
/* The program is in no function that a domain has called any more. */
WAY(by_end, STATUS(LG_E_ARGUMENT, lg_end_call("nothing")))
WAY(by_caller, CHECK(!lg_caller()))

/* From a function that is deeper, which has used its frame: a pointer, once the call has been ended; a function of the library's always. */
static void fill(volatile char *room, size_t size) {
    for (size_t i = 0; i < size; i++)
        room[i] = (char)i;
}

static void call_deeper(void) {
    volatile char room[4096];
    fill(room, sizeof room);
    STATUS(LG_OK, lg_call(same, &argument, 1, &result));
}

static void ask_deeper(void) {
    volatile char room[4096];
    fill(room, sizeof room);
    CHECK(!lg_user_data());
    CHECK(other_same(3) == 3);
    RETURNED();
}

static void point_deeper(void) {
    volatile char room[4096];
    fill(room, sizeof room);
    CHECK(other_same(3) == 3);
    RETURNED();
}

static void make_deeper(void) {
    volatile char room[4096];
    fill(room, sizeof room);
    CHECK((domain = lg_domain_new(module, made)));
    STATUS(LG_OK, lg_domain_free(domain));
}

WAY(by_deeper_call, call_deeper())
WAY(by_deeper_user_data, ask_deeper())
WAY(by_deeper_pointer, point_deeper())
WAY(by_deeper_new, make_deeper())

/* From a function further out. */
static lg_grant *jumps(void) {
    lg_grant *volatile lent = lg_lend(left, region, LG_READ);
    CHECK(lent);
    if (setjmp(back) == 0)
        apply(lg_callback_pointer(callback), 1);
    return lent;
}

static void from_outer_frames(void) {
    lg_grant *lent = jumps();
    CHECK(other_same(3) == 3);
    RETURNED();
    is_left("a pointer, from a function further out", lent);
    lent = jumps();
    STATUS(LG_OK, lg_call(same, &argument, 1, &result));
    is_left("lg_call(), from a function further out", lent);
}

/* Over two domains, of which one has called the other. */
static void over_two(void) {
    if (setjmp(back) == 0) {
        forward(-1);
        CHECK(!"the jump came back");
    }
    call_deeper();
    CHECK(turn_of(&left_same) == LG_OK && turn_of(&local) == LG_OK);
    CHECK(forward(2) == 1002);
    RETURNED();
}

/* A call within a function that a domain has called leaves what is in progress alone. */
static int inner(int x) {
    CHECK((memory = lg_memory_alloc(other, 10)));
    STATUS(LG_OK, lg_call(same, &argument, 1, &result));
    STATUS(LG_OK, lg_domain_usage(left, &usage, sizeof usage));
    CHECK(usage.calls == 1);
    lg_domain *within = lg_domain_new(module, made);
    CHECK(within && lg_domain_close(within) == LG_OK);
    CHECK(turn_of(&left_same) == LG_E_BUSY);
    return x;
}

static void in_progress(void) {
    lg_callback *within = lg_callback_new(left, "int inner(int)", (lg_code)inner, NULL);
    lg_grant *lent = lg_lend(left, region, LG_READ);
    CHECK(apply(lg_callback_pointer(within), 4) == 5);
    RETURNED();
    CHECK(lg_grant_rights(lent) == LG_READ);
    STATUS(LG_OK, lg_grant_free(lent));
    STATUS(LG_OK, lg_callback_free(within));
}

/* Nor does it on another stack, which lies above that of the call, in one mapping. */
static ucontext_t first, second, out;
static int switches(int x) {
    CHECK(swapcontext(&first, &second) == 0);
    return x;
}

static void ask_there(void) {
    STATUS(LG_OK, lg_domain_usage(left, &usage, sizeof usage));
    CHECK(usage.calls == 1);
}

static void call_here(void) {
    lg_callback *there = lg_callback_new(left, "int switches(int)", (lg_code)switches, NULL);
    CHECK(apply(lg_callback_pointer(there), 4) == 5);
    RETURNED();
    STATUS(LG_OK, lg_callback_free(there));
}

static void on_other_stacks(void) {
    enum { SIZE = 256 << 10 };
    char *stacks = (char *)malloc(2 * SIZE);
    CHECK(stacks && getcontext(&first) == 0 && getcontext(&second) == 0);
    first.uc_stack.ss_sp = stacks;
    second.uc_stack.ss_sp = stacks + SIZE;
    first.uc_stack.ss_size = second.uc_stack.ss_size = SIZE;
    first.uc_link = &out;
    second.uc_link = &first;
    makecontext(&first, call_here, 0);
    makecontext(&second, ask_there, 0);
    CHECK(swapcontext(&out, &first) == 0);
    free(stacks);
}

/* A library's own thread calls nothing: what functions of the program's have left there is dropped when they have returned. */
static lg_grant *volatile lent_there;
static pthread_barrier_t told;

static int jumps_there(void *user) {
    (void)user;
    lent_there = jumps();
    return 6;
}

static int waits_and_jumps(void *user) {
    pthread_barrier_wait(&told);
    return jumps_there(user);
}

static void jumps_when_told(void *user) {
    (void)user;
    lent_there = jumps();
    pthread_barrier_wait(&told);
}

static void is_told(void *user) {
    (void)user;
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(lent_there));
    pthread_barrier_wait(&told);
}

static int jumps_within(int x) {
    lent_there = jumps();
    return x;
}

static int waits_within(int x) {
    pthread_barrier_wait(&told);
    return x;
}

/* A coroutine whose function jumps over a call there, and ends: what is called on the thread's own stack then knows of it by what has become of the
 * coroutine's. */
static void jumps_here(void) { lent_there = jumps(); }

static void fills(void) {
    volatile char room[16384];
    fill(room, sizeof room);
}

static void on_a_stack_that_is_used_again(void) {
    enum { SIZE = 256 << 10 };
    for (int gone = 0; gone < 2; gone++) {
        char *stack = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED && getcontext(&first) == 0);
        first.uc_stack.ss_sp = stack;
        first.uc_stack.ss_size = SIZE;
        first.uc_link = &out;
        second = first;
        makecontext(&first, jumps_here, 0);
        CHECK(swapcontext(&out, &first) == 0);
        if (gone) {
            CHECK(munmap(stack, SIZE) == 0);
        } else {
            makecontext(&second, fills, 0);
            CHECK(swapcontext(&out, &second) == 0);
        }
        CHECK(other_same(3) == 3);
        RETURNED();
        is_left(gone ? "a coroutine whose stack is gone" : "a coroutine whose stack another one has", lent_there);
        CHECK(gone || munmap(stack, SIZE) == 0);
    }
}

/* What a coroutine has lent, for a call that it makes later, stays when another stack's calls are left: its stack lies below. */
static lg_grant *lent_by_another;
static void lends_and_waits(void) {
    CHECK((lent_by_another = lg_lend(left, region, LG_READ)));
    CHECK(swapcontext(&first, &out) == 0);
    CHECK(left_same(7) == 7 && lg_grant_rights(lent_by_another) == LG_READ);
    STATUS(LG_OK, lg_grant_free(lent_by_another));
}

static void beside_a_coroutine_that_has_lent(void) {
    enum { SIZE = 256 << 10 };
    char *stack = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && getcontext(&first) == 0);
    first.uc_stack.ss_sp = stack;
    first.uc_stack.ss_size = SIZE;
    first.uc_link = &out;
    makecontext(&first, lends_and_waits, 0);
    CHECK(swapcontext(&out, &first) == 0);
    if (setjmp(back) == 0) {
        apply(lg_callback_pointer(callback), 1);
        CHECK(!"the jump came back");
    }
    CHECK(other_same(3) == 3);
    RETURNED();
    CHECK(lg_grant_rights(lent_by_another) == LG_READ);
    CHECK(swapcontext(&out, &first) == 0);
    CHECK(munmap(stack, SIZE) == 0);
}

static void on_workers(void) {
    CHECK((workers = lg_workers_new(1, 2)));
    CHECK(pthread_barrier_init(&told, NULL, 2) == 0);
    CHECK((asynchronous = lg_spawn(left, workers, 0, waits_and_jumps, NULL)));
    STATUS(LG_OK, lg_async_notify(asynchronous, is_told, NULL));
    pthread_barrier_wait(&told);
    pthread_barrier_wait(&told);
    STATUS(LG_OK, lg_async_wait(asynchronous, -1, &result));
    CHECK(result.as.i == 6);
    is_left("the work of lg_spawn()", lent_there);

    lg_callback *within = lg_callback_new(other, "int jumps_within(int)", (lg_code)jumps_within, NULL);
    lg_value with[2] = {signed_value(0), signed_value(4)};
    with[0].type = LG_POINTER;
    with[0].as.p = lg_callback_pointer(within);
    CHECK((asynchronous = lg_call_async(bind(other, "apply"), workers, 0, with, 2)));
    STATUS(LG_OK, lg_async_wait(asynchronous, -1, &result));
    CHECK(result.as.i == 5);
    is_left("a callback of an asynchronous call", lent_there);
    STATUS(LG_OK, lg_callback_free(within));

    /* The call is in progress until its worker has something to tell. */
    within = lg_callback_new(other, "int waits_within(int)", (lg_code)waits_within, NULL);
    with[0].as.p = lg_callback_pointer(within);
    CHECK((asynchronous = lg_call_async(bind(other, "apply"), workers, 0, with, 2)));
    STATUS(LG_OK, lg_async_notify(asynchronous, jumps_when_told, NULL));
    pthread_barrier_wait(&told);
    pthread_barrier_wait(&told);
    /* Its worker takes the next call when the function has returned. */
    CHECK(turn_of(&left_same) == LG_OK);
    STATUS(LG_OK, lg_workers_finish(workers));
    is_left("what lg_async_notify() calls", lent_there);
    STATUS(LG_OK, lg_callback_free(within));
}

int main(void) {
    module = open_module("guest.lg");
    program_module = open_module("program.lg");
    CHECK((region = lg_region_new(4096)));
    made = options();
    other = new_domain(module, made);
    pool = lg_pool_new(module, made, 1);
    STATUS(LG_OK, lg_options_name(made, "served"));
    served = new_domain(module, made);
    lg_export *what = lg_export_new("served.same", 1, 0);
    STATUS(LG_OK, lg_export_of(what, "same"));
    STATUS(LG_OK, lg_export_allow_everyone(what));
    STATUS(LG_OK, lg_registry_export(LG_PROCESS_REGISTRY, served, what));
    made = options();
    lg_options *exclusive = options();
    STATUS(LG_OK, lg_options_exclusive(exclusive, 2000));
    left = new_domain(module, exclusive);
    CHECK((library = lg_dlopen("./wild.lg", RTLD_NOW)));
    callback = lg_callback_new(left, "int leave(int)", (lg_code)leave, &region);
    apply = POINTER(int (*)(void *, int), bind(left, "apply"));
    left_same = POINTER(int (*)(int), left_same_function = bind(left, "same"));
    other_same = POINTER(int (*)(int), same = bind(other, "same"));
    exclusive = lg_options_new();
    STATUS(LG_OK, lg_options_exclusive(exclusive, 2000));
    lg_domain *caller = new_domain(open_module("client.lg"), exclusive);
    STATUS(LG_OK, lg_domain_link(caller, "remote", left, "keep_busy", LG_DEFAULT, NULL));
    forward = POINTER(int (*)(int), bind(caller, "forward"));
    local = POINTER(int (*)(int), bind(caller, "local"));
    argument = signed_value(5);
    result = signed_value(0);
    in_progress();
    on_other_stacks();
    for (ends = 0; ends < 2; ends++) {
        by_pointer();
        by_call();
        by_alloc();
        by_free();
        by_copy();
        by_new();
        by_reset();
        by_close();
        by_take();
        by_handle();
        by_usage();
        by_run();
        by_lend();
        by_open();
        by_dl_close();
        by_open_with();
        CHECK(lg_dlclose(opened) == 0);
        by_malloc();
        by_dl_free();
        CHECK((workers = lg_workers_new(1, 2)));
        by_wait();
        by_finish();
        CHECK((workers = lg_workers_new(1, 2)));
        by_workers();
        by_end();
        by_caller();
        by_deeper_call();
        by_deeper_new();
        by_deeper_user_data();
        if (ends)
            by_deeper_pointer();
        from_outer_frames();
        on_a_stack_that_is_used_again();
        beside_a_coroutine_that_has_lent();
        over_two();
        on_workers();
    }
    ends = 0;
    by_restart();
    return 0;
}
