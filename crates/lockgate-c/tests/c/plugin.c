/* A shared object with a library of its own, for two.c and chain.c. */
#include "check.h"

int plugin_start(void);
int plugin_same(int x);
lg_status plugin_crash(void);
lg_status plugin_claim(void);

static int (*same)(int);
static void (*crash)(int *);

int plugin_start(void) {
    lg_domain *domain = new_domain(open_module("guest.lg"), NULL);
    same = POINTER(int (*)(int), bind(domain, "same"));
    crash = POINTER(void (*)(int *), bind(domain, "crash"));
    return same && crash;
}

int plugin_same(int x) {
    int y = same(x);
    RETURNED();
    return y;
}

lg_status plugin_crash(void) {
    crash(NULL);
    return lg_take_call_error();
}

lg_status plugin_claim(void) {
    return lg_claim_signals();
}
