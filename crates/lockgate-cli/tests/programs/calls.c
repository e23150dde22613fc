/* Programs that call each other, for tests of `lockgate up`. What a turn must not see is a and b apart. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

extern long theirs(long);

static volatile long a, b;
static void step(void) {
    long x = a;
    for (volatile int i = 0; i < 200; i++) ;
    a = x + 1;
    x = b;
    for (volatile int i = 0; i < 200; i++) ;
    b = x + 1;
}

/* What others call. */
long bump(long n) { if (a != b) return -2; step(); return a == b ? n : -2; }
long count(long n) { (void)n; return a; }
long crash(long n) { return *(volatile long *)n; }
long leave(long n) { exit((int)n); }
long back(long n) { return theirs(n); }
double other(double x) { return x; }

static void say(const char *what) { printf("%s\n", what); fflush(stdout); }

/* Never comes back: asleep, waiting for a lock, in a loop, in a loop of sleeps. */
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
long stay(long how) {
    say("stays");
    if (how == 1) pthread_mutex_trylock(&taken), pthread_mutex_lock(&taken);
    for (;;) if (how != 2) poll(0, 0, how ? 1 : -1);
}

/* Works for a while, asleep and awake, and says that it has. */
long late(long milliseconds) {
    poll(0, 0, (int)milliseconds);
    for (int i = 0; i < 1000; i++) step();
    say(a == b ? "has worked" : "wrong");
    return 1;
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(how, "serves")) {
        int set = epoll_create1(0);
        struct epoll_event event;
        for (;;) { epoll_wait(set, &event, 1, 1); step(); }
    }
    if (!strcmp(how, "listens")) { /* on a port, and ends with it open */
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)n)};
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        say(bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1) ? "cannot listen" : "listens");
        poll(0, 0, 1);
        return 0;
    }
    if (!strcmp(how, "never")) { say("never"); poll(0, 0, 1); for (;;) step(); }
    if (!strcmp(how, "calls")) {
        for (long i = 0; i < n; i++) if (theirs(i) != i) { say("wrong"); return 1; }
        say("called");
        return 0;
    }
    if (!strcmp(how, "visits")) { theirs(n); say("back"); return 0; }
    if (!strcmp(how, "once")) { printf("%ld\n", theirs(n)); return 0; }
    if (!strcmp(how, "until")) { while (theirs(1) != n) ; printf("%ld\n", n); return 0; }
    if (!strcmp(how, "tells")) {
        /* Whenever it is another than before. */
        for (long before = -99;;) {
            long now = theirs(1);
            if (now != before) say(now == 1 ? "served" : now == -1 ? "refused" : "wrong");
            before = now;
        }
    }
    return 2;
}
