/* Functions of the host that domains call. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static lg_module *opened;
/* One that nobody is in, and one that exports. */
static lg_domain *idle, *serves;

typedef struct state {
    lg_domain *domain;
    int (*same)(int);
    void (*crash)(int *);
    int calls;
    int (*apply)(void *, int);
    void *stops;
} state;

static int times(int x) {
    state *own = (state *)lg_user_data();
    return x * ++own->calls;
}

static int add(int a, int b) {
    CHECK(strcmp((const char *)lg_user_data(), "gate") == 0);
    CHECK(!lg_is_modules_thread());
    return a + b;
}

static void note(const char *text) {
    char copy[32];
    STATUS(LG_OK, lg_memory_read_string(LG_CALLER, copy, sizeof copy, text, NULL));
    CHECK(strcmp(copy, "noted") == 0);
    CHECK(!lg_user_data());
    STATUS(LG_E_HANDLE, lg_domain_free(LG_CALLER));
    SAYS("LG_CALLER");
    STATUS(LG_E_HANDLE, lg_domain_close(LG_CALLER));
    SAYS("LG_CALLER");
    STATUS(LG_E_HANDLE, lg_domain_reset(LG_CALLER));
    SAYS("LG_CALLER");
    CHECK(lg_domain_base(LG_CALLER) != 0);
}

static long sum(long a, long b, long c, long d, long e, long f, long g, long h, double x) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)x;
}

static int compare(const void *a, const void *b) {
    int x, y;
    STATUS(LG_OK, lg_memory_read(LG_CALLER, &x, a, sizeof x));
    STATUS(LG_OK, lg_memory_read(LG_CALLER, &y, b, sizeof y));
    return (x > y) - (x < y);
}

static int stop(int x) {
    STATUS(LG_OK, lg_end_call("enough"));
    return x;
}

/* The call ends whatever the message is, which may quote the domain. */
static int stop_with(int x) {
    STATUS(LG_OK, lg_end_call((const char *)lg_user_data()));
    return x;
}

/* What has ended its call calls nobody before it returns, in whosever domain: the end that waits is nobody else's. */
static int stop_and_call(int x) {
    state *other = (state *)lg_user_data();
    STATUS(LG_OK, lg_end_call("enough"));
    for (int i = 0; i < 2; i++) {
        other->same(x);
        FAILED(LG_E_CALLBACK);
        SAYS("is to return");
        NOTHING(LG_E_CALLBACK, lg_memory_alloc(other->domain, 8));
        NOTHING(LG_E_CALLBACK, lg_memory_alloc(LG_CALLER, 8));
        /* The start of a domain is a call of it. */
        NOTHING(LG_E_START, lg_domain_new(opened, NULL));
        SAYS("is to return");
        /* What would be started again stays as it is. */
        STATUS(LG_E_CALLBACK, lg_domain_reset(idle));
        NOTHING(LG_E_CALLBACK, lg_registry_restart(LG_PROCESS_REGISTRY, "serves"));
    }
    return x;
}

static int stop_if(int x) {
    return x == 3 ? stop(x) : x;
}

/* A call that this one makes is ended, and this one is not. */
static int ended_inside(int x) {
    state *other = (state *)lg_user_data();
    other->apply(other->stops, 3);
    FAILED(LG_E_CALLBACK);
    CHECK(other->apply(other->stops, 4) == 5);
    RETURNED();
    return x;
}

/* Lets go of the domain that calls it, which stays for the call. A program that frees the function, too, which it must not, loses LG_CALLER. */
static int let_go(int x) {
    void **held = (void **)lg_user_data();
    STATUS(LG_OK, lg_domain_free((lg_domain *)held[0]));
    CHECK(lg_domain_base(LG_CALLER) != 0);
    CHECK(lg_memory_alloc(LG_CALLER, 8));
    STATUS(LG_E_HANDLE, lg_domain_free((lg_domain *)held[0]));
    if (x == 2) {
        STATUS(LG_OK, lg_function_free((lg_function *)held[1]));
        NOTHING(LG_E_ARGUMENT, lg_domain_base(LG_CALLER));
        NOTHING(LG_E_ARGUMENT, lg_memory_alloc(LG_CALLER, 8));
        _exit(0);
    }
    return x;
}

static void lives_while_it_calls(lg_module *module, lg_options *options) {
    lg_domain *domain = new_domain(module, options);
    lg_function *function = bind(domain, "apply");
    void *held[] = {domain, function};
    lg_callback *callback = lg_callback_new(domain, "int let_go(int)", (lg_code)let_go, held);
    CHECK(POINTER(int (*)(void *, int), function)(lg_callback_pointer(callback), 1) == 2);
    RETURNED();
    STATUS(LG_OK, lg_function_free(function));
    pid_t child = fork();
    if (child == 0) {
        domain = new_domain(module, options);
        held[0] = domain, held[1] = function = bind(domain, "apply");
        callback = lg_callback_new(domain, "int let_go(int)", (lg_code)let_go, held);
        POINTER(int (*)(void *, int), function)(lg_callback_pointer(callback), 2);
        _exit(1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Ignores the error of a call of its own. */
static int careless(int x) {
    state *own = (state *)lg_user_data();
    own->crash(NULL);
    return x;
}

/* Looks at it. */
static int careful(int x) {
    state *own = (state *)lg_user_data();
    own->crash(NULL);
    FAILED(LG_E_FAULT);
    CHECK(own->same(x) == x);
    RETURNED();
    return x;
}

typedef struct big {
    long numbers[3];
} big;
static big three(void) {
    big b = {{1, 2, 3}};
    return b;
}

int main(void) {
    CHECK(!lg_user_data());
    STATUS(LG_E_ARGUMENT, lg_end_call("nobody called"));
    lg_module *module = opened = open_module("guest.lg");
    lg_options *options = lg_options_new();
    char gate[] = "gate";
    STATUS(LG_E_PROTOTYPE, lg_options_gate(options, "int host_add(", (lg_code)add, gate));
    STATUS(LG_E_ARGUMENT, lg_options_gate(options, "int host_add(int, int)", NULL, gate));
    STATUS(LG_E_ARGUMENT, lg_options_gate(options, NULL, (lg_code)add, gate));
    lg_options *wrong = lg_options_new();
    STATUS(LG_OK, lg_options_gate(wrong, "long host_add(int, int)", (lg_code)add, gate));
    NOTHING(LG_E_IMPORT, lg_domain_new(module, wrong));
    wrong = lg_options_new();
    STATUS(LG_OK, lg_options_gate(wrong, "int host_sub(int, int)", (lg_code)add, gate));
    NOTHING(LG_E_IMPORT, lg_domain_new(module, wrong));
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)add, gate));
    STATUS(LG_OK, lg_options_gate(options, "void host_note(const char *)", (lg_code)note, NULL));
    lg_domain *domain = new_domain(module, options);
    CHECK(POINTER(int (*)(int, int), bind(domain, "add_by_host"))(3, 4) == 7);
    CHECK(POINTER(int (*)(const void *), bind(domain, "note"))(lg_memory_alloc_copy(domain, "noted", 6)) == 1);
    RETURNED();

    state own = {domain, POINTER(int (*)(int), bind(domain, "same")),
                 POINTER(void (*)(int *), bind(domain, "crash")), 0, NULL, NULL};
    int (*apply)(void *, int) = POINTER(int (*)(void *, int), bind(domain, "apply"));
    lg_callback *callback = lg_callback_new(domain, "int times(int)", (lg_code)times, &own);
    CHECK(callback && apply(lg_callback_pointer(callback), 10) == 11);
    CHECK(apply(lg_callback_pointer(callback), 10) == 21 && own.calls == 2);
    void *stale = lg_callback_pointer(callback);
    STATUS(LG_OK, lg_callback_free(callback));
    STATUS(LG_E_HANDLE, lg_callback_free(callback));
    apply(stale, 1);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_GATE && own.calls == 2);
    apply((void *)(uintptr_t)(lg_domain_base(domain) + 0x12345), 1); /* never given */
    FAILED(LG_E_FAULT);
    apply((void *)(uintptr_t)times, 1); /* the host's own address means nothing */
    FAILED(LG_E_FAULT);

    callback = lg_callback_new(domain, "long sum(long, long, long, long, long, long, long, long, double)",
                               (lg_code)sum, NULL);
    long (*apply9)(void *, double) = POINTER(long (*)(void *, double), bind(domain, "apply9"));
    CHECK(apply9(lg_callback_pointer(callback), 0.5) == 204);
    int numbers[] = {5, 3, 9, 1};
    int *inside = (int *)lg_memory_alloc_copy(domain, numbers, sizeof numbers);
    lg_callback *order = lg_callback_new(domain, "int compare(const void *, const void *)", (lg_code)compare, NULL);
    POINTER(void (*)(int *, size_t, void *), bind(domain, "sort"))(inside, 4, lg_callback_pointer(order));
    RETURNED();
    CHECK(inside[0] == 1 && inside[3] == 9);

    lg_callback *end = lg_callback_new(domain, "int stop(int)", (lg_code)stop, NULL);
    apply(lg_callback_pointer(end), 1);
    FAILED(LG_E_CALLBACK);
    SAYS("that the domain called ended the call: enough");
    const char *messages[] = {"not allowed: \xff", NULL}, *said[] = {"not allowed: \xef\xbf\xbd", "(no message)"};
    for (int i = 0; i < 2; i++) {
        lg_callback *odd = lg_callback_new(domain, "int stop_with(int)", (lg_code)stop_with, (void *)messages[i]);
        apply(lg_callback_pointer(odd), 1);
        FAILED(LG_E_CALLBACK);
        SAYS(said[i]);
    }
    state other = {new_domain(module, options), NULL, NULL, 0, NULL, NULL};
    other.same = POINTER(int (*)(int), bind(other.domain, "same"));
    other.apply = POINTER(int (*)(void *, int), bind(other.domain, "apply"));
    other.stops = lg_callback_pointer(lg_callback_new(other.domain, "int stop_if(int)", (lg_code)stop_if, NULL));
    end = lg_callback_new(domain, "int stop_and_call(int)", (lg_code)stop_and_call, &other);
    idle = new_domain(module, options);
    STATUS(LG_OK, lg_options_name(options, "serves"));
    serves = new_domain(module, options);
    lg_export *what = lg_export_new("serves.same", 1, 0);
    STATUS(LG_OK, lg_export_of(what, "same"));
    STATUS(LG_OK, lg_registry_export(LG_PROCESS_REGISTRY, serves, what));
    apply(lg_callback_pointer(end), 1);
    FAILED(LG_E_CALLBACK);
    SAYS("that the domain called ended the call: enough");
    STATUS(LG_OK, lg_domain_reset(idle));
    CHECK(lg_memory_alloc(idle, 8) && lg_memory_alloc(serves, 8));
    lg_domain *again = lg_registry_restart(LG_PROCESS_REGISTRY, "serves");
    CHECK(again && lg_memory_alloc(again, 8));
    end = lg_callback_new(domain, "int ended_inside(int)", (lg_code)ended_inside, &other);
    CHECK(apply(lg_callback_pointer(end), 1) == 2);
    RETURNED();
    lg_callback *one = lg_callback_new(domain, "int careless(int)", (lg_code)careless, &own);
    CHECK(apply(lg_callback_pointer(one), 5) == 6);
    RETURNED(); /* the outer call is not the inner one */
    one = lg_callback_new(domain, "int careful(int)", (lg_code)careful, &own);
    CHECK(apply(lg_callback_pointer(one), 5) == 6);
    RETURNED();

    lives_while_it_calls(module, options);
    NOTHING(LG_E_PROTOTYPE, lg_callback_new(domain, "struct { long n[3]; } three(void)", (lg_code)three, NULL));
    NOTHING(LG_E_HANDLE, lg_callback_new(NULL, "int stop(int)", (lg_code)stop, NULL));
    NOTHING(LG_E_ARGUMENT, lg_callback_new(domain, "int stop(int)", NULL, NULL));
    NOTHING(LG_E_HANDLE, lg_callback_pointer(NULL));
    lg_clear_error();
    for (int i = 0; lg_callback_new(domain, "int stop(int)", (lg_code)stop, NULL); i++)
        CHECK(i < 100000);
    CHECK(lg_last_status() == LG_E_NO_POINTERS);
    return 0;
}
