/* A well-behaved module. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int host_add(int a, int b);
void host_note(const char *text);

struct pair {
    double x;
    long n;
};

struct large {
    long numbers[5];
};

static int counter;
int answer = 42;

int same(int x) { return x; }
double half(double x) { return x / 2; }
float third(float x) { return x / 3; }
unsigned char small(unsigned char x, short y) { return (unsigned char)(x + y); }
struct pair turn(struct pair p) {
    struct pair q = {(double)p.n, (long)p.x};
    return q;
}
struct large fill(long from) {
    struct large all;
    for (int i = 0; i < 5; i++)
        all.numbers[i] = from + i;
    return all;
}
long sum9(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9;
}
int count(void) { return ++counter; }
size_t length(const char *text) { return strlen(text); }
void *through(void *user) { return user; }
char *copy(const char *text) { return strdup(text); }
int add_by_host(int a, int b) { return host_add(a, b); }
int keep_busy(int x) { return host_add(x, 0); }
/* A futex that others share; negative errors. */
int sleep_at(unsigned *word, unsigned value, long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    return syscall(SYS_futex, word, FUTEX_WAIT, value, nanoseconds < 0 ? 0 : &time, 0, 0) ? -errno : 0;
}
int wake_at(unsigned *word) {
    long woken = syscall(SYS_futex, word, FUTEX_WAKE, 1000, 0, 0, 0);
    return woken < 0 ? -errno : (int)woken;
}
int note_last(long a, long b, long c, long d, long e, long f, long g, const char *text) {
    host_note(text);
    return (int)(a + b + c + d + e + f + g);
}
int note(const char *text) {
    host_note(text);
    return 1;
}
int apply(int (*function)(int), int x) { return function(x) + 1; }
long apply9(long (*function)(long, long, long, long, long, long, long, long, double), double x) {
    return function(1, 2, 3, 4, 5, 6, 7, 8, x);
}
void sort(int *numbers, size_t count, int (*compare)(const void *, const void *)) {
    qsort(numbers, count, sizeof *numbers, compare);
}
int read_int(const int *at) { return *at; }
void write_int(int *at, int value) { *at = value; }
void crash(int *at) { *at = 1; }
int apply_and_crash(int (*function)(int), int x) { return *(volatile int *)(long)(function(x) & 8); }
int divide(int a, int b) { return a / b; }
void spin(void) {
    for (;;)
        __asm__ volatile("");
}
void leave(int status) { exit(status); }
void give_up(void) { abort(); }
int deep(int n) {
    volatile char room[256];
    room[0] = (char)n;
    return deep(n + 1) + room[0];
}
long nested(int (*function)(int), int depth) { return depth == 0 ? 0 : function(depth - 1); }
int allocate(size_t size) {
    char *block = malloc(size);
    if (!block)
        return 0;
    memset(block, 1, size);
    return 1;
}
/* Go on when the host says so. */
struct large fill_later(volatile int *go, int *to) {
    while (!*go)
        ;
    *to = 7;
    return fill(3);
}
void add_later(volatile int *go, struct large all, int *to) {
    while (!*go)
        ;
    *to = (int)(all.numbers[0] + all.numbers[1] + all.numbers[2] + all.numbers[3] + all.numbers[4]);
}
int apply_later(volatile int *go, int (*function)(int), int x) {
    while (!*go)
        ;
    return function(x);
}
void crash_later(volatile int *go) {
    while (!*go)
        ;
    *(volatile int *)16 = 1;
}
int mask(void) { return (int)umask(0); }
int open_file(const char *path) { return open(path, O_RDONLY) < 0 ? -errno : 0; }
/* To a file or a pipe of the domain's own, whose reader is gone; what comes of the second write, behind a limit that the host has set by then. */
static int own = -1, ends[2];
int make_own(const char *path) {
    if (pipe(ends) || close(ends[0])) return -errno;
    own = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return own < 0 ? -errno : (int)pwrite(own, "hello", 5, 0);
}
int write_own(int to_pipe) {
    long done = to_pipe ? write(ends[1], "hello", 5) : pwrite(own, "hello", 5, 5);
    return done < 0 ? -errno : (int)done;
}
int say(const char *text) { return (int)write(1, text, strlen(text)); }
/* Waits for what never comes: at a futex, for a time, for a stream. */
int wait_for(int what) {
    static int word;
    char byte;
    if (what == 0)
        return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    if (what == 1)
        return poll(NULL, 0, -1);
    return (int)read(0, &byte, 1);
}
static void *thread(void *argument) { return argument; }
int start_thread(void) {
    pthread_t id;
    void *result = NULL;
    int error = pthread_create(&id, NULL, thread, &counter);
    if (!error)
        pthread_join(id, &result);
    return error ? error : result == &counter ? 0 : -1;
}
static void *crash_in_thread(void *at) {
    *(volatile int *)at = 1;
    return at;
}
int start_crash(void) {
    pthread_t id;
    return pthread_create(&id, NULL, crash_in_thread, NULL);
}
static void *use_host(void *unused) {
    for (;;)
        host_add(1, 2);
    return unused;
}
int start_users(int count) {
    pthread_t id;
    int started = 0;
    while (started < count && pthread_create(&id, NULL, use_host, NULL) == 0)
        started++;
    return started;
}
static pthread_t ending[8];
static void *end_in_host(void *how) {
    host_add((int)(long)how, 0);
    return NULL;
}
int start_ending(int how, int count) {
    int started = 0;
    while (started < count && pthread_create(&ending[started], NULL, end_in_host, (void *)(long)how) == 0)
        started++;
    return started;
}
int join_ending(int count) {
    int ended = 0;
    for (int i = 0; i < count; i++) {
        void *result = NULL;
        pthread_join(ending[i], &result);
        ended += result == PTHREAD_CANCELED;
    }
    return ended;
}
long odd_syscall(void) { return syscall(SYS_userfaultfd, 0); }

/* Connects to a port of this machine, and says what the server says: a byte, or an error's number, negated. */
int says(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    unsigned char byte = 0;
    int failed = fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0 || read(fd, &byte, 1) != 1;
    failed = failed ? -errno : byte;
    close(fd);
    return failed;
}
long total(const int *numbers, unsigned count) {
    long sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}
int invert(unsigned count, unsigned char *bytes) {
    for (unsigned i = 0; i < count; i++)
        bytes[i] = (unsigned char)~bytes[i];
    return (int)count;
}
