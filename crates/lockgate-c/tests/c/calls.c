/* Functions: pointers, values, faults, what the thread remembers. */
#include "check.h"

typedef struct pair {
    double x;
    long n;
} pair;

typedef struct large {
    long numbers[5];
} large;

#define PAIR "struct { double x; long n; }"

static void by_pointer(lg_domain *domain) {
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "int same(int)"));
    double (*half)(double) = POINTER(double (*)(double), bind(domain, "half"));
    float (*third)(float) = POINTER(float (*)(float), bind(domain, "float third(float)"));
    unsigned char (*small)(unsigned char, short) =
        POINTER(unsigned char (*)(unsigned char, short), bind(domain, "unsigned char small(unsigned char, short)"));
    pair (*turn)(pair) = POINTER(pair (*)(pair), bind(domain, PAIR " turn(" PAIR ")"));
    large (*fill)(long) = POINTER(large (*)(long), bind(domain, "struct { long numbers[5]; } fill(long)"));
    long (*sum9)(long, long, long, long, long, long, long, long, long) =
        POINTER(long (*)(long, long, long, long, long, long, long, long, long), bind(domain, "long sum9(long, long, long, long, long, long, long, long, long)"));
    CHECK(same(-7) == -7 && half(5) == 2.5 && third(1.5f) == 0.5f && small(250, 10) == 4);
    pair p = {2.0, 3};
    p = turn(p);
    CHECK(p.x == 3.0 && p.n == 2);
    CHECK(fill(10).numbers[4] == 14);
    CHECK(sum9(1, 2, 3, 4, 5, 6, 7, 8, 9) == 285);
    RETURNED();
}

/* A result of this kind, as it is after a call that it may have been used for before. */
static lg_value *expect(lg_value *result, lg_type type) {
    result->type = type;
    return result;
}

static void by_value(lg_domain *domain) {
    lg_value result, arguments[9];
    memset(arguments, 0, sizeof arguments);
    memset(&result, 0xcc, sizeof result); /* as what lay there before */
    arguments[0].type = LG_SIGNED;
    arguments[0].as.i = -7;
    lg_function *same = bind(domain, "int same(int)");
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 1, &result));
    SAYS("LG_SIGNED");
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 1, expect(&result, LG_UNSIGNED)));
    STATUS(LG_OK, lg_call(same, arguments, 1, expect(&result, LG_SIGNED)));
    CHECK(result.type == LG_SIGNED && result.as.i == -7);
    STATUS(LG_OK, lg_call(same, arguments, 1, NULL));
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 2, &result));
    STATUS(LG_E_ARGUMENT, lg_call(same, NULL, 1, &result));
    arguments[0].as.i = INT64_C(1) << 40;
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 1, &result));
    arguments[0].type = LG_DOUBLE;
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 1, &result));
    arguments[0].type = (lg_type)99;
    STATUS(LG_E_ARGUMENT, lg_call(same, arguments, 1, &result));
    arguments[0].type = LG_DOUBLE;
    arguments[0].as.d = 3;
    STATUS(LG_OK, lg_call(bind(domain, "half"), arguments, 1, expect(&result, LG_DOUBLE)));
    CHECK(result.type == LG_DOUBLE && result.as.d == 1.5);
    arguments[0].type = LG_FLOAT;
    arguments[0].as.f = 3;
    STATUS(LG_OK, lg_call(bind(domain, "third"), arguments, 1, expect(&result, LG_FLOAT)));
    CHECK(result.type == LG_FLOAT && result.as.f == 1);
    arguments[0].type = arguments[1].type = LG_UNSIGNED;
    arguments[0].as.u = 2;
    arguments[1].as.u = 3;
    STATUS(LG_OK, lg_call(bind(domain, "small"), arguments, 2, expect(&result, LG_UNSIGNED)));
    CHECK(result.type == LG_UNSIGNED && result.as.u == 5);
    pair p = {2.0, 3}, q;
    arguments[0].type = LG_STRUCT;
    arguments[0].bytes.at = &p;
    arguments[0].bytes.size = sizeof p;
    lg_function *turn = bind(domain, "turn");
    result.bytes.at = NULL;
    STATUS(LG_E_ARGUMENT, lg_call(turn, arguments, 1, expect(&result, LG_STRUCT)));
    result.bytes.at = &q;
    result.bytes.size = sizeof q;
    result.as.u = 77;
    STATUS(LG_OK, lg_call(turn, arguments, 1, &result));
    CHECK(result.bytes.at == &q && result.bytes.size == sizeof q && result.as.u == 77 && q.x == 3 && q.n == 2);
    for (int wrong = -1; wrong <= 1; wrong += 2) {
        result.bytes.size = sizeof q + wrong;
        STATUS(LG_E_ARGUMENT, lg_call(turn, arguments, 1, &result));
        SAYS("room");
    }
    arguments[0].bytes.at = NULL;
    STATUS(LG_E_ARGUMENT, lg_call(turn, arguments, 1, &result));
    large all;
    arguments[0].type = LG_SIGNED;
    arguments[0].as.i = 5;
    result.bytes.at = &all;
    result.bytes.size = sizeof all;
    NOTHING(LG_E_NO_SIGNATURE, lg_bind(domain, "fill", LG_DEFAULT));
    SAYS("returns its result in memory");
    NOTHING(LG_E_NO_SIGNATURE, lg_bind(domain, " sum9 ", LG_DEFAULT));
    SAYS("lg_bind");
    STATUS(LG_OK, lg_call(bind(domain, "struct { long numbers[5]; } fill(long)"), arguments, 1, &result));
    CHECK(all.numbers[0] == 5 && all.numbers[4] == 9);
    arguments[0].type = LG_POINTER;
    arguments[0].as.p = NULL;
    STATUS(LG_E_FAULT, lg_call(bind(domain, "crash"), arguments, 1, expect(&result, LG_VOID)));
    CHECK(!lg_failed());
    STATUS(LG_OK, lg_call(bind(domain, "int count(void)"), NULL, 0, expect(&result, LG_SIGNED)));
    STATUS(LG_OK, lg_call(bind(domain, "write_int"),
                          (arguments[0].as.p = lg_memory_alloc(domain, 4), arguments[1].type = LG_SIGNED, arguments),
                          2, expect(&result, LG_VOID)));
    CHECK(result.type == LG_VOID);
}

static void bad_bindings(lg_domain *domain) {
    NOTHING(LG_E_MISSING, lg_bind(domain, "int sane(int)", LG_DEFAULT));
    SAYS("same");
    NOTHING(LG_E_SIGNATURE, lg_bind(domain, "long same(int)", LG_DEFAULT));
    NOTHING(LG_E_PROTOTYPE, lg_bind(domain, "int same(int", LG_DEFAULT));
    NOTHING(LG_E_PROTOTYPE, lg_bind(domain, "", LG_DEFAULT));
    NOTHING(LG_E_ARGUMENT, lg_bind(domain, NULL, LG_DEFAULT));
    NOTHING(LG_E_ARGUMENT, lg_bind(domain, "same", 8));
    NOTHING(LG_E_HANDLE, lg_function_pointer(NULL));
    NOTHING(LG_E_HANDLE, lg_function_prototype(NULL));
    STATUS(LG_E_HANDLE, lg_call(NULL, NULL, 0, NULL));
}

static void policies(lg_domain *domain) {
    const lg_policy presets[] = {LG_MUTUAL_TRUST,         LG_SERVER_TRUSTED,      LG_INTEGRITY,
                                 LG_MUTUAL_DISTRUST,      LG_INTEGRITY | LG_TIMED, LG_MUTUAL_TRUST | LG_COUNTED,
                                 LG_CLIENT(LG_CPU_STATE), LG_SERVER(LG_REGISTER_CONFIDENTIALITY)};
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        lg_function *function = lg_bind(domain, "same", presets[i]);
        lg_policy timed = presets[i] & LG_TIMED ? LG_COUNTED : 0;
        CHECK(lg_function_policy(function) == (presets[i] | timed));
        CHECK(POINTER(int (*)(int), function)(5) == 5);
        size_t size = 0;
        CHECK(lg_function_proxy(function, &size) && size > 100);
        NOTHING(LG_E_ARGUMENT, lg_function_proxy(function, NULL));
        STATUS(LG_OK, lg_function_free(function));
    }
    lg_function *function = bind(domain, "same");
    CHECK(lg_function_policy(function) == LG_MUTUAL_DISTRUST);
    CHECK(strcmp(lg_function_prototype(function), "int32_t same(int32_t)") == 0);
}

static void faults(lg_domain *domain) {
    void (*crash)(int *) = POINTER(void (*)(int *), bind(domain, "crash"));
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "same"));
    crash(NULL);
    FAILED(LG_E_FAULT);
    const lg_fault *fault = lg_last_fault();
    CHECK(fault && fault->kind == LG_FAULT_SEGV && fault->access == LG_ACCESS_WRITE);
    CHECK(fault->has_address && fault->address == 0 && fault->has_instruction && fault->instruction);
    CHECK(strcmp(fault->domain, "guest.lg") == 0 && strcmp(fault->module, "guest.lg") == 0);
    CHECK(strcmp(fault->entry_point, "crash") == 0 && strcmp(fault->function, "crash") == 0);
    CHECK(strstr(fault->file, "guest.c") && fault->line > 40 && fault->line < 80);
    CHECK(fault->registers.rip > lg_domain_base(domain));
    CHECK(strstr(fault->report, "guest.c") && strstr(fault->reason, "null pointer"));
    CHECK(strstr(lg_last_backtrace(), "crash") != NULL);
    STATUS(LG_OK, lg_take_call_error()); /* once */

    int (*divide)(int, int) = POINTER(int (*)(int, int), bind(domain, "divide"));
    void (*leave)(int) = POINTER(void (*)(int), bind(domain, "leave"));
    void (*give_up)(void) = POINTER(void (*)(void), bind(domain, "give_up"));
    int (*deep)(int) = POINTER(int (*)(int), bind(domain, "deep"));
    CHECK(divide(7, 2) == 3);
    divide(7, 0);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_FPE && !lg_last_fault()->has_address);
    leave(17);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_EXIT && lg_last_fault()->detail == 17);
    give_up();
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_ABORT);
    deep(0);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_STACK_OVERFLOW);

    /* What nobody asked about is forgotten with the next call. */
    crash(NULL);
    CHECK(lg_failed());
    CHECK(same(4) == 4);
    RETURNED();
    /* An error of a function of the library does not disturb what the call left, nor the other way round. */
    crash(NULL);
    NOTHING(LG_E_READ, lg_module_open("no such file.lg"));
    CHECK(lg_failed());
    CHECK(lg_last_status() == LG_E_READ);
    FAILED(LG_E_FAULT);
    /* The function goes before the predicate is asked. */
    lg_function *short_lived = bind(domain, "crash");
    POINTER(void (*)(int *), short_lived)(NULL);
    STATUS(LG_OK, lg_function_free(short_lived));
    FAILED(LG_E_GONE);
    CHECK(!lg_last_fault());
}

int main(void) {
    lg_module *module = open_module("guest.lg");
    lg_domain *domain = new_domain(module, NULL);
    by_pointer(domain);
    by_value(domain);
    bad_bindings(domain);
    policies(domain);
    faults(domain);
    return 0;
}
