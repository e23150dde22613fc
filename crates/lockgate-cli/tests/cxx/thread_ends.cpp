// Threads that end by pthread_exit and by cancellation: destructors run, from the innermost function to the outermost.
#include <cerrno>
#include <cstdio>
#include <cxxabi.h>
#include <exception>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>

#define FAR __attribute__((noinline))

static std::string told;
static void tell(const std::string &what) { told += " " + what; }

struct Counted {
    std::string name;
    FAR explicit Counted(std::string name) : name(std::move(name)) {}
    FAR ~Counted() { tell("~" + name); }
};
struct Late {
    ~Late() { tell("~late"); }
};
static thread_local Late late;

static int never[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t sleeper;

static void handler(void *name) { tell(static_cast<const char *>(name)); }
static void unlock(void *) {
    tell("unlocks");
    pthread_mutex_unlock(&mutex);
}

using Way = void (*)();
static void exits() { pthread_exit(const_cast<char *>("its result")); }
static void looks() {
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static void sleeps() { usleep(60000000); }
static void pauses() { pause(); }
static void reads() {
    char byte;
    if (read(never[0], &byte, 1) != -1) tell("read");
}
static void polls() { poll(nullptr, 0, -1); }
static void waits() { sem_wait(&semaphore); }
static void joins() { pthread_join(sleeper, nullptr); }
static void is_told() {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}

FAR static long inner(Way way, long n) {
    Counted counted("inner" + std::to_string(n));
    volatile char room[100 + 16 * 1];
    room[n] = 1;
    if (n > 0) return inner(way, n - 1) + room[n];
    way();
    tell("goes on");
    return room[n];
}
FAR static long cleans(Way way) {
    long result = 0;
    pthread_cleanup_push(handler, const_cast<char *>("handler"));
    result = inner(way, 2);
    pthread_cleanup_pop(0);
    return result;
}
FAR static long catches(Way way) {
    Counted counted("catches");
    try {
        return cleans(way);
    } catch (const std::exception &) {
        tell("wrong");
    } catch (abi::__forced_unwind &) {
        tell("forced");
        throw;
    }
    return 0;
}
FAR static long catches_all(Way way) {
    Counted counted("all");
    try {
        return catches(way);
    } catch (...) {
        tell("...");
        try {
            throw 1;
        } catch (int) {
            tell("another");
        }
        throw;
    }
}
static void *run(void *way) {
    (void)&late;
    Counted counted("run");
    catches_all(*static_cast<Way *>(way));
    tell("ends");
    return nullptr;
}

static void *sleeps_on(void *) {
    for (;;) pause();
}

int main() {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (pipe(never) != 0 || sem_init(&semaphore, 0, 0) != 0) return 1;
    pthread_create(&sleeper, nullptr, sleeps_on, nullptr);
    struct {
        const char *name;
        Way way;
        bool cancelled;
    } ways[] = {{"exit", exits, false}, {"testcancel", looks, false}, {"usleep", sleeps, true}, {"pause", pauses, true}, {"read", reads, true},
                {"poll", polls, true},  {"sem_wait", waits, true},    {"join", joins, true},    {"cond_wait", is_told, true}};
    for (auto &way : ways) {
        told.clear();
        pthread_t thread;
        pthread_create(&thread, nullptr, run, &way.way);
        if (way.cancelled) pthread_cancel(thread);
        void *result;
        pthread_join(thread, &result);
        const char *what = result == PTHREAD_CANCELED ? "cancelled" : result ? static_cast<const char *>(result) : "none";
        printf("%s:%s: %s\n", way.name, told.c_str(), what);
    }
    told.clear();
    std::thread thread([] {
        Counted counted("lambda");
        pauses();
    });
    pthread_cancel(thread.native_handle());
    thread.join();
    printf("std::thread:%s\n", told.c_str());
    fflush(stdout);
    // The first thread ends, and then the process, with 0.
    told.clear();
    Counted counted("main");
    std::atexit([] { printf("at exit:%s\n", told.c_str()); });
    pthread_cancel(sleeper);
    pthread_exit(nullptr);
}
