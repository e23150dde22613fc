// Handlers that count: of signals that the program raises, or of timers, each of which ends a loop without calls a millisecond later.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/time.h>

static volatile std::sig_atomic_t handled;

static void handle(int) { handled = handled + 1; }

int main(int, char **argv) {
    const bool timers = std::atoi(argv[1]);
    const int count = std::atoi(argv[2]);
    std::signal(timers ? SIGALRM : SIGUSR1, handle);
    for (int number = 0; number < count; number++) {
        if (timers) {
            const itimerval timer = {{0, 0}, {0, 1000}};
            setitimer(ITIMER_REAL, &timer, nullptr);
            while (handled == number) {}
        } else
            std::raise(SIGUSR1);
    }
    std::printf("%d\n", static_cast<int>(handled));
}
