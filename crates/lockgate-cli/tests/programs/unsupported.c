/* What a domain has none of fails as POSIX says it may, and the program goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *thread(void *argument) { return argument; }

static int process(void *argument) { return argument != 0; }

int main(void) {
    pthread_t id;
    printf("pthread_create %d\n", pthread_create(&id, NULL, thread, NULL) == EAGAIN);
    printf("fork %d\n", fork() < 0 && errno == ENOSYS);
    printf("vfork %d\n", vfork() < 0 && errno == ENOSYS);
    static char stack[4096];
    printf("clone %d\n", clone(process, stack + sizeof stack, SIGCHLD, NULL) < 0 && errno == ENOSYS);
    printf("system %d\n", system("true") != 0);
    printf("popen %d\n", popen("true", "r") == NULL);
    printf("dlsym %d\n", dlsym(RTLD_DEFAULT, "printf") == NULL);
    puts("still here");
    return 0;
}
