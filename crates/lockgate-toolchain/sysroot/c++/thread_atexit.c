/* Destructors of thread_local objects: last one first, before the thread's other clean-up, and on a thread that ends the program before
   those of static objects. */
#include <pthread.h>
#include <stdlib.h>

struct ending {
    struct ending *earlier;
    void (*function)(void *);
    void *object;
};
static _Thread_local struct ending *last;

/* musl destroys a thread's values in the order of their keys. */
static pthread_key_t key;
static void end(void *value);
__attribute__((constructor(101))) static void first_key(void) { pthread_key_create(&key, end); }

int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *library) {
    (void)library;
    struct ending *ending = malloc(sizeof *ending);
    if (!ending || pthread_setspecific(key, &key)) abort();
    *ending = (struct ending){last, function, object};
    last = ending;
    return 0;
}

void _lg_end_thread_locals(void) {
    for (struct ending *ending; (ending = last);) {
        last = ending->earlier;
        ending->function(ending->object);
        free(ending);
    }
}

static void end(void *value) {
    (void)value;
    _lg_end_thread_locals();
}
