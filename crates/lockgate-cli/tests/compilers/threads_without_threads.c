// What programs with threads use, in one thread.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
static pthread_once_t o = PTHREAD_ONCE_INIT;
static int k;
static void once(void) { k++; }
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static atomic_flag fl = ATOMIC_FLAG_INIT;
int main() {
    for (int i = 0; i < 3; i++) pthread_once(&o, once);
    pthread_mutex_lock(&m);
    int t = pthread_mutex_trylock(&m) != 0;
    pthread_mutex_unlock(&m);
    pthread_key_create(&key, 0);
    pthread_setspecific(key, &k);
    printf("%d %d %d %d\n", k, t, pthread_getspecific(key) == &k,
           atomic_flag_test_and_set(&fl) * 2 + atomic_flag_test_and_set(&fl));
}
