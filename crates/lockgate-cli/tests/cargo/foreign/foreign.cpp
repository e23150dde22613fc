// What the program in Rust beside it calls: frames of C++ between its own.
#include <cstdio>
#include <stdexcept>

extern "C" void panics(int number);

namespace {
struct Noisy {
    const char *where;
    ~Noisy() {
        printf("destroyed in %s\n", where);
        fflush(stdout);
    }
};
} // namespace

extern "C" void passes(int number) {
    Noisy noisy{"passes"};
    panics(number);
}

extern "C" int catches(int number) {
    try {
        Noisy noisy{"catches"};
        panics(number);
    } catch (...) {
        puts("caught in C++");
        fflush(stdout);
        return number;
    }
    return 0;
}

extern "C" void throws() { throw std::runtime_error("of C++"); }
