/* A system call of a domain's has its result also where another call has begun over it: in a handler that came while it waited, and left that call
 * by a jump. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's: the library does not see this handler come, which runs on the host's stack. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};
#ifdef __cplusplus
extern "C"
#endif
void come_back(void);
__asm__(".text\ncome_back: mov $15, %eax\nsyscall");

static int (*wait_for)(int), (*add_by_host)(int, int);
static sigjmp_buf place;
static sem_t came;
static int pipe_ends[2], waiting_thread;

static int leave(int a, int b) {
    siglongjmp(place, 1);
    return a + b;
}
static void note(const char *text) { (void)text; }

static void handler(int number) {
    (void)number;
    if (!sigsetjmp(place, 1))
        add_by_host(1, 2);
    sem_post(&came);
}

/* Sends a signal to the thread that waits, and when that has been handled, what it waits for. */
static void *send(void *thread) {
    char path[64], state[64] = "running";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiting_thread);
    do { /* (The system call that it sleeps in begins with its number.) */
        int file = open(path, O_RDONLY);
        ssize_t length = read(file, state, sizeof state - 1);
        state[length > 0 ? length : 0] = 0;
        close(file);
    } while (strncmp(state, "running", 7) == 0 || atoi(state) == SYS_futex || *state == 0);
    CHECK(pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0 && sem_wait(&came) == 0);
    CHECK(write(pipe_ends[1], "x", 1) == 1);
    return NULL;
}

int main(void) {
    CHECK(pipe(pipe_ends) == 0 && sem_init(&came, 0, 0) == 0);
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_gate(options, "int host_add(int, int)", (lg_code)leave, NULL));
    STATUS(LG_OK, lg_options_gate(options, "void host_note(const char *)", (lg_code)note, NULL));
    STATUS(LG_OK, lg_options_stream(options, 0, pipe_ends[0]));
    lg_domain *domain = lg_domain_new(lg_module_open("guest.lg"), options);
    CHECK(domain);
    wait_for = (int (*)(int))lg_function_pointer(lg_bind(domain, "int wait_for(int)", LG_DEFAULT));
    add_by_host = (int (*)(int, int))lg_function_pointer(lg_bind(domain, "int add_by_host(int, int)", LG_DEFAULT));
    CHECK(wait_for && add_by_host);
    struct action action = {handler, 0x04000000 | SA_RESTART, come_back, 0};
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof action.mask) == 0);
    pthread_t self = pthread_self(), sender;
    waiting_thread = (int)syscall(SYS_gettid);
    CHECK(write(pipe_ends[1], "x", 1) == 1 && wait_for(2) == 1); /* (as it is without) */
    CHECK(pthread_create(&sender, NULL, send, &self) == 0);
    CHECK(wait_for(2) == 1 && !lg_failed());
    CHECK(pthread_join(sender, NULL) == 0);
    return 0;
}
