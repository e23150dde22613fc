/* A host with bugs of its own in a function that a domain calls: tools must see them still. */
#include "check.h"
#include <pthread.h>

static char kind;
static int shared;
static lg_function *inside;

static int bug(int x) {
    if (kind == 'a') {
        char *volatile block = (char *)malloc(8);
        x += block[8 + x];
        free(block);
    } else if (kind == 'u') {
        volatile int most = 0x7fffffff;
        x += most + x;
    } else {
        shared += x;
    }
    return x;
}

static void *call(void *callback) {
    int (*apply)(void *, int) = POINTER(int (*)(void *, int), inside);
    for (int i = 0; i < 1000; i++)
        apply(callback, 1);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    kind = argv[1][0];
    lg_domain *domain = new_domain(open_module("guest.lg"), NULL);
    inside = bind(domain, "apply");
    lg_callback *callback = lg_callback_new(domain, "int bug(int)", (lg_code)bug, NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, call, lg_callback_pointer(callback)) == 0);
    call(lg_callback_pointer(callback));
    pthread_join(thread, NULL);
    return 0;
}
