//! Signals that threads of a domain send each other by the thousand, as collectors that stop the world do: none is lost, none comes twice, whatever
//! a thread does meanwhile (docs/decisions/0080).

use crate::common::{Guest, watchdog};
use lockgate::{Domain, DomainOptions, Module};
use std::sync::{Arc, LazyLock};

type Long = extern "C" fn(i64) -> i64;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define FUTEX_CMP_REQUEUE 4
#define FAR __attribute__((noinline, noclone))

/* What workers do until it is over. */
enum { COMPUTES, CALLS, ASKS, ALLOCATES, LOCKS, SLEEPS, SUSPENDS, KINDS, CREATES };
static struct worker {
    int kind;
    pthread_t thread;
    volatile long progress, handled, resumed, seen, sent, wrong;
} workers[KINDS];
static __thread struct worker *own;
static sem_t begun, acknowledged, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int over;
static int process, count;
static volatile unsigned long epoch;
static volatile long total;

static void wait_for(sem_t *semaphore) { while (sem_wait(semaphore)) if (errno != EINTR) abort(); }
FAR static long sum(long n) { volatile char room[n * 16 % 300 + 1]; room[0] = n; return n ? sum(n - 1) + room[0] : 0; }

/* Ends with small blocks of its own, which it gives back. */
static void *short_lived(void *argument) { free(malloc(16)); return argument; }

static void *works(void *argument) {
    own = argument, own->thread = pthread_self();
    sigset_t all, none;
    sigfillset(&all), sigemptyset(&none);
    if (own->kind == SUSPENDS) sigprocmask(SIG_SETMASK, &all, 0);
    sem_post(&begun);
    for (; !over; own->progress++) switch (own->kind) {
    case COMPUTES: own->wrong += sum(10) != 55; break;
    case CALLS: own->wrong += getpid() != process; break;
    case ASKS: sched_yield(), umask(022); break;
    case ALLOCATES: {
        /* Few of these wait in a thread's cache: it goes to the chunks for most of them. */
        char *all[64];
        for (int i = 0; i < 64; i++) all[i] = malloc(4000);
        for (int i = 0; i < 64; i++) free(all[i]);
        break;
    }
    case CREATES: {
        pthread_t thread;
        void *result = 0;
        own->wrong += pthread_create(&thread, 0, short_lived, own) || pthread_join(thread, &result) || result != own;
        break;
    }
    case LOCKS: pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock); break;
    case SLEEPS: if (!sem_wait(&never)) own->wrong += !over; else own->wrong += errno != EINTR; break;
    case SUSPENDS: own->wrong += sigsuspend(&none) != -1 || errno != EINTR; break;
    }
    return 0;
}

static void on(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, 0);
}
static void nothing(int signal) { }
static long start_these(const int kinds[], int of_them) {
    over = 0, epoch = 0, total = 0, process = getpid();
    memset(workers, 0, sizeof workers);
    sem_init(&begun, 0, 0), sem_init(&acknowledged, 0, 0), sem_init(&never, 0, 0);
    on(SIGTERM, nothing, 0);
    count = of_them;
    for (int i = 0; i < count; i++) {
        workers[i].kind = kinds[i];
        if (pthread_create(&workers[i].thread, 0, works, &workers[i])) return -1;
    }
    for (int i = 0; i < count; i++) wait_for(&begun);
    return 0;
}
static long start(void) {
    static const int all[KINDS] = {COMPUTES, CALLS, ASKS, ALLOCATES, LOCKS, SLEEPS, SUSPENDS};
    return start_these(all, KINDS);
}
static long end(long result) {
    over = 1, sem_post(&never);
    for (int i = 0; i < count; i++) {
        if (workers[i].kind == SUSPENDS) pthread_kill(workers[i].thread, SIGTERM);
        pthread_join(workers[i].thread, 0);
        if (workers[i].wrong && result >= 0) result = -100 - i;
    }
    return result;
}
static void send(struct worker *to, int signal) {
    int error;
    while ((error = pthread_kill(to->thread, signal)) == EAGAIN) sched_yield();
    if (error) abort();
}

/* One at a time to everybody: each comes once, to whom it was sent. */
static void acknowledges(int signal) {
    int before = errno;
    own->wrong += !pthread_equal(pthread_self(), own->thread);
    own->handled++;
    sem_post(&acknowledged);
    errno = before;
}
long each(long rounds) {
    on(SIGUSR1, acknowledges, 0);
    if (start()) return -1;
    for (long round = 1; round <= rounds; round++) {
        for (int i = 0; i < count; i++) send(&workers[i], SIGUSR1);
        for (int i = 0; i < count; i++) wait_for(&acknowledged);
        for (int i = 0; i < count; i++) if (workers[i].handled != round) return end(-10 - i);
    }
    return end(rounds);
}

/* The world stops, and nobody does anything until it goes on. */
static sigset_t only_resume;
static void stops(int signal) {
    int before = errno;
    unsigned long now = epoch;
    own->handled++;
    sem_post(&acknowledged);
    do sigsuspend(&only_resume); while (epoch == now);
    sem_post(&acknowledged);
    errno = before;
}
static void resumes(int signal) { own->resumed++; }
static unsigned long progress(void) {
    unsigned long all = 0;
    for (int i = 0; i < count; i++) all = all * 31 + workers[i].progress;
    return all;
}
static long stop_and_go(long rounds) {
    on(SIGUSR1, stops, SA_RESTART), on(SIGUSR2, resumes, SA_RESTART);
    sigfillset(&only_resume), sigdelset(&only_resume, SIGUSR2);
    for (long round = 1; round <= rounds; round++) {
        for (int i = 0; i < count; i++) send(&workers[i], SIGUSR1);
        for (int i = 0; i < count; i++) wait_for(&acknowledged);
        unsigned long stopped = progress();
        for (int i = 0; i < 200; i++) sum(50);
        if (progress() != stopped) return end(-2);
        epoch++;
        for (int i = 0; i < count; i++) send(&workers[i], SIGUSR2);
        for (int i = 0; i < count; i++) wait_for(&acknowledged);
        for (int i = 0; i < count; i++) if (workers[i].handled != round || workers[i].resumed != round) return end(-10 - i);
    }
    return end(rounds);
}

long worlds(long rounds) { return start() ? -1 : stop_and_go(rounds); }
long creators(long rounds) {
    static const int these[] = {ALLOCATES, ALLOCATES, CREATES, CREATES};
    return start_these(these, 4) ? -1 : stop_and_go(rounds);
}

/* Who joins a thread may be stopped when libc's list of threads is free again; who waits for that list with all signals blocked goes on all the
   same. The list is held by a thread that ends, or here. */
extern void __tl_lock(void), __tl_unlock(void);
extern volatile int __thread_list_lock;
static sem_t joins, creates, done;
static pthread_t ended, created;
static void *ends(void *argument) { return argument; }
static int has_ended(pthread_t thread) { return ((volatile int *)thread)[14] == 0; } /* its detach_state */
/* Threads that wait for the list: all of them are moved to where they are. */
static long waiting(void) { return syscall(SYS_futex, &__thread_list_lock, FUTEX_CMP_REQUEUE, 0, 99, &__thread_list_lock, __thread_list_lock); }
static void *joiner(void *argument) {
    own = argument;
    for (; wait_for(&joins), !over; sem_post(&done)) own->wrong += pthread_join(ended, 0);
    return 0;
}
static void *creator(void *argument) {
    for (; wait_for(&creates), !over; sem_post(&done)) if (pthread_create(&created, 0, ends, 0)) abort();
    return 0;
}
long lists(long rounds) {
    struct worker one = {0}, two = {0};
    over = 0, epoch = 0;
    on(SIGUSR1, stops, SA_RESTART), on(SIGUSR2, resumes, SA_RESTART);
    sigfillset(&only_resume), sigdelset(&only_resume, SIGUSR2);
    sem_init(&joins, 0, 0), sem_init(&creates, 0, 0), sem_init(&done, 0, 0), sem_init(&acknowledged, 0, 0);
    if (pthread_create(&one.thread, 0, joiner, &one) || pthread_create(&two.thread, 0, creator, &two)) return -1;
    for (long round = 0; round < rounds; round++) {
        if (pthread_create(&ended, 0, ends, 0)) return -2;
        for (; __tl_lock(), !has_ended(ended); sched_yield()) __tl_unlock();
        sem_post(&joins);
        while (waiting() != 1) sched_yield();
        sem_post(&creates);
        while (waiting() != 2) sched_yield();
        __tl_unlock();
        pthread_kill(one.thread, SIGUSR1);
        /* One is stopped; the other one starts its thread. */
        wait_for(&acknowledged), wait_for(&done);
        epoch++, pthread_kill(one.thread, SIGUSR2);
        wait_for(&acknowledged), wait_for(&done);
        /* At its end it wants the list, too: in the next round it would be one of those that wait. */
        if (pthread_join(created, 0)) return -4;
    }
    over = 1, sem_post(&joins), sem_post(&creates);
    pthread_join(one.thread, 0), pthread_join(two.thread, 0);
    return one.wrong ? -3 : rounds;
}

/* Sent without waiting: of an ordinary signal one comes behind the last that was sent, of those that queue each. */
static void sees(int signal) { own->seen = own->sent, own->handled++; }
static void counts(int signal) { own->handled++; }
long last(long times) {
    on(SIGUSR1, sees, 0);
    if (start()) return -1;
    for (long n = 1; n <= times; n++) for (int i = 0; i < count; i++) workers[i].sent = n, send(&workers[i], SIGUSR1);
    for (int i = 0; i < count; i++) while (workers[i].seen != times) sched_yield();
    end(0);
    for (int i = 0; i < count; i++) if (workers[i].handled < 1 || workers[i].handled > times) return -10 - i;
    return times;
}
long queued(long times) {
    on(SIGRTMIN + 3, counts, 0);
    if (start()) return -1;
    for (long n = 1; n <= times; n++) for (int i = 0; i < count; i++) send(&workers[i], SIGRTMIN + 3);
    for (int i = 0; i < count; i++) while (workers[i].handled < times) sched_yield();
    end(0);
    for (int i = 0; i < count; i++) if (workers[i].handled != times) return -10 - i;
    return times;
}

/* To nobody in particular, by two at a time: somebody gets each. */
static void adds(int signal) { __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST); }
static void *sends(void *times) {
    for (long n = (long)times; n; ) if (!kill(getpid(), SIGRTMIN + 4)) n--; else if (errno == EAGAIN) sched_yield(); else abort();
    return 0;
}
long anybody(long times) {
    on(SIGRTMIN + 4, adds, 0);
    pthread_t other;
    if (start() || pthread_create(&other, 0, sends, (void *)times)) return -1;
    sends((void *)times), pthread_join(other, 0);
    while (total < 2 * times) sched_yield();
    long result = end(0);
    return result ? result : total;
}

/* Waited for, by who blocks it. */
static void *takes(void *times) {
    sigset_t set; sigemptyset(&set), sigaddset(&set, SIGRTMIN + 5), sigprocmask(SIG_BLOCK, &set, 0);
    sem_post(&begun);
    siginfo_t info;
    for (long n = (long)times; n; n--) if (sigwaitinfo(&set, &info) != SIGRTMIN + 5) return (void *)1;
    sigpending(&set);
    return (void *)(long)sigismember(&set, SIGRTMIN + 5);
}
long waited_for(long times) {
    struct worker taker = {0};
    sem_init(&begun, 0, 0);
    if (pthread_create(&taker.thread, 0, takes, (void *)times)) return -1;
    wait_for(&begun);
    for (long n = 0; n < times; n++) send(&taker, SIGRTMIN + 5);
    void *wrong = 0;
    pthread_join(taker.thread, &wrong);
    return wrong ? -2 : times;
}

/* Round and round: each handler tells the next thread. */
static void passes(int signal) {
    int before = errno;
    own->handled++;
    if (own < workers + count - 1) send(own + 1, SIGUSR1); else if (--total) send(workers, SIGUSR1); else sem_post(&acknowledged);
    errno = before;
}
long ring(long rounds) {
    on(SIGUSR1, passes, 0);
    if (start()) return -1;
    total = rounds;
    send(workers, SIGUSR1);
    wait_for(&acknowledged);
    end(0);
    for (int i = 0; i < count; i++) if (workers[i].handled != rounds) return -10 - i;
    return rounds;
}

/* Threads are sent signals from the moment that they have numbers until their last one. */
static volatile long goes;
static void *asked(void *argument) { own = argument; while (own->handled < 3) ; own->progress = 1; return 0; }
static void asks_own(int signal) { own ? own->handled++ : goes++; }
long newborn(long threads) {
    on(SIGRTMIN + 6, asks_own, 0);
    for (long n = 0; n < threads; n++) {
        struct worker one = {0};
        goes = 0;
        if (pthread_create(&one.thread, 0, asked, &one)) return -1;
        long sent = 0;
        for (; !one.progress; sent++) send(&one, SIGRTMIN + 6), sched_yield();
        pthread_join(one.thread, 0);
        if (one.handled + goes > sent) return -2;
    }
    return threads;
}

/* A cancellation comes to whoever waits, and to whoever is about to. */
static void *endless(void *how) {
    static const struct timespec hours = {100000, 0};
    sigset_t none;
    sigemptyset(&none), sem_post(&begun);
    for (;;) switch ((long)how % 4) {
    case 0: pause(); break;
    case 1: sem_wait(&never); break;
    case 2: nanosleep(&hours, 0); break;
    case 3: sigsuspend(&none); break;
    }
    return 0;
}
long cancelled(long threads) {
    sem_init(&begun, 0, 0), sem_init(&never, 0, 0);
    for (long n = 0; n < threads; n++) {
        pthread_t thread;
        void *result = 0;
        if (pthread_create(&thread, 0, endless, (void *)n)) return -1;
        if (n % 3) wait_for(&begun);
        for (volatile long i = 0; i < n * 37 % 5000; i++) ;
        if (pthread_cancel(thread) || pthread_join(thread, &result) || result != PTHREAD_CANCELED) return -2 - n;
    }
    return threads;
}
"#;

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| Guest::c(SOURCE).module());

/// Calls `name` for so many times, `LOCKGATE_STORMS` times as many if that is set: rounds in which all threads take part need each of them to come to
/// a processor.
fn call(name: &str, times: i64) {
    let more = std::env::var("LOCKGATE_STORMS").map_or(1, |more| more.parse().expect("a number"));
    let times = times * more;
    let domain = Domain::new(&MODULE, DomainOptions::new().max_guest_threads(16)).expect("a domain");
    let expected = if name == "anybody" { 2 * times } else { times };
    assert_eq!(domain.bind::<Long>(name).expect("an export").call(times).expect(name), expected, "{name}");
}

#[test]
fn each_signal_comes_once() {
    let _watchdog = watchdog("each_signal_comes_once");
    call("each", 30);
    call("ring", 20);
}

#[test]
fn the_world_stops_and_goes_on() {
    let _watchdog = watchdog("the_world_stops_and_goes_on");
    call("worlds", 5);
    call("creators", 30);
}

#[test]
fn no_signal_is_lost_in_a_storm() {
    let _watchdog = watchdog("no_signal_is_lost_in_a_storm");
    for name in ["last", "queued", "anybody", "waited_for"] {
        call(name, 1000);
    }
}

#[test]
fn threads_that_have_just_begun_are_sent_signals() {
    let _watchdog = watchdog("threads_that_have_just_begun_are_sent_signals");
    call("newborn", 10);
}

#[test]
fn cancellations_come_to_all_who_wait() {
    let _watchdog = watchdog("cancellations_come_to_all_who_wait");
    call("cancelled", 200);
}

/// Red with musl's own `pthread_join`: what it is woken for is passed on too late.
#[test]
fn threads_that_join_are_stopped_and_others_go_on() {
    let _watchdog = watchdog("threads_that_join_are_stopped_and_others_go_on");
    call("lists", 100);
}
