/* The only thread of a program that starts none ends by pthread_exit: its handlers run, destructors of its values, and then what exit() runs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void handler(void *name) { puts(name); }
static void at_exit(void) { puts("at exit"); }

int main(void) {
    pthread_key_t key;
    pthread_key_create(&key, handler);
    pthread_setspecific(key, "value");
    atexit(at_exit);
    pthread_cleanup_push(handler, "handler");
    pthread_exit(0);
    pthread_cleanup_pop(0);
}
