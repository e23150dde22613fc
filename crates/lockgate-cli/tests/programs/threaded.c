/* Threads that a program starts itself: create, join, detach, mutex, condition, storage, exit. Prints the same natively. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static _Thread_local int own = 7;
static long total, destroyed;
static int turn;
static sem_t left;

static void destructor(void *value) { __atomic_fetch_add(&destroyed, (long)value, __ATOMIC_SEQ_CST); }

static void *count(void *argument) {
    long number = (long)argument;
    pthread_setspecific(key, (void *)(number + 1));
    own += number;
    errno = (int)number;
    for (int i = 0; i < ROUNDS; i++) {
        char *block = malloc(64 + i % 512);
        memset(block, (int)number, 64);
        pthread_mutex_lock(&mutex);
        total += block[13] == number;
        pthread_mutex_unlock(&mutex);
        free(block);
    }
    return errno == number && own == 7 + number ? (void *)(number * 10) : (void *)-1;
}

static void *in_turn(void *argument) {
    long number = (long)argument;
    pthread_mutex_lock(&mutex);
    while (turn != number) pthread_cond_wait(&condition, &mutex);
    printf("turn %ld\n", number);
    turn++;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *leave(void *argument) {
    sem_post(&left);
    pthread_exit(argument);
}

static void *nested(void *argument) {
    pthread_t inner;
    void *result;
    if (pthread_create(&inner, NULL, leave, argument) || pthread_join(inner, &result)) return NULL;
    return result;
}

static void *stay(void *unused) {
    for (;;) sleep(1000);
    return unused;
}

static void *crash(void *unused) {
    abort();
    return unused;
}

static void *end(void *argument) { exit((int)(long)argument); }

int main(int count_of_arguments, char **arguments) {
    pthread_t threads[THREADS];
    void *result;
    pthread_key_create(&key, destructor);
    sem_init(&left, 0, 0);
    for (long i = 0; i < THREADS; i++) {
        int error = pthread_create(&threads[i], NULL, count, (void *)i);
        if (error) return printf("create %ld: %s\n", i, strerror(error)), 3;
    }
    for (long i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        printf("joined %ld: %ld\n", i, (long)result);
    }
    printf("total %ld, destroyed %ld, own %d\n", total, destroyed, own);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, in_turn, (void *)(THREADS - 1 - i));
    for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    /* One after the other, so that places are used again. */
    for (long i = 0; i < 200; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, nested, (void *)i) || pthread_join(one, &result) || (long)result != i)
            return printf("round %ld\n", i), 4;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], &attributes, leave, NULL);
    for (int i = 0; i < 203; i++) sem_wait(&left);
    puts("detached ones have left");
    fflush(stdout);
    if (count_of_arguments > 1 && !strcmp(arguments[1], "crash")) {
        pthread_create(&threads[0], NULL, crash, NULL);
        stay(NULL);
    }
    if (count_of_arguments > 1 && !strcmp(arguments[1], "abandon")) {
        pthread_create(&threads[0], NULL, stay, NULL);
        return 6;
    }
    pthread_create(&threads[0], NULL, end, (void *)5);
    if (count_of_arguments > 1 && !strcmp(arguments[1], "leave")) pthread_exit(NULL);
    for (;;) sem_wait(&left);
}
