// Exceptions by depth: `unwind FRAMES KIND ROUNDS` throws over so many functions, which have destructors to call if KIND is 1.
#include <cstdio>
#include <cstdlib>

static long live;

struct Held {
    Held() { live++; }
    ~Held() { live--; }
};

__attribute__((noinline)) static long plain(int frames, long number) {
    if (frames <= 1) {
        if (number >= 0)
            throw number;
        return number;
    }
    const long below = plain(frames - 1, number + 1);
    // (Without this gcc makes a loop of the function, and each throw has one frame to pass.)
    asm volatile("");
    return below + 1;
}

__attribute__((noinline)) static long held(int frames, long number) {
    Held one;
    if (frames <= 1) {
        if (number >= 0)
            throw number;
        return number;
    }
    return held(frames - 1, number + 1) + live;
}

int main(int, char **argv) {
    const int frames = std::atoi(argv[1]);
    const auto function = std::atoi(argv[2]) ? held : plain;
    long sum = 0;
    for (long round = std::atol(argv[3]); round > 0; round--)
        try {
            sum += function(frames, round);
        } catch (long number) {
            sum = sum * 31 + number + live;
        }
    std::printf("%ld\n", sum);
}
