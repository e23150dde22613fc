// Exceptions through every kind of frame: who catches, what is destroyed, which registers and variables are left.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <ucontext.h>

#define FAR __attribute__((noinline))

static int live;
volatile int sink;

struct Counted {
    int n;
    Counted(int n = 7) : n(n) { live++; }
    ~Counted() { live--; }
};

struct Base {
    int code;
    Base(int code) : code(code) {}
    virtual ~Base() {}
    virtual const char *what() { return "Base"; }
};
struct Derived : Base {
    using Base::Base;
    const char *what() override { return "Derived"; }
};
struct Virtual : virtual Derived {
    Virtual(int code) : Derived(code) {}
    const char *what() override { return "Virtual"; }
};

FAR void thrower(int kind) {
    Counted counted;
    switch (kind) {
    case 0: throw 1;
    case 1: throw Derived(2);
    case 2: throw "text";
    case 3: throw Virtual(4);
    case 4: throw 2.5;
    default: sink++;
    }
}

FAR int deep(int n, int kind) {
    Counted counted(n);
    int result = n == 0 ? (thrower(kind), 0) : deep(n - 1, kind) + 1;
    return result + counted.n;
}

// Computed frames.
FAR int variable(int n, int kind) {
    volatile char room[n];
    room[n - 1] = 5;
    Counted counted(n);
    thrower(kind);
    return room[n - 1];
}
FAR int catches_in_variable(int n, int kind) {
    volatile char room[n];
    room[0] = 5;
    room[n - 1] = 6;
    try {
        variable(2 * n, kind);
    } catch (int i) {
        return room[0] + room[n - 1] + i;
    }
    return 0;
}
FAR int catches_in_aligned(int kind) {
    alignas(64) volatile char room[200];
    room[0] = 3;
    Counted counted;
    try {
        variable(100, kind);
    } catch (Base &base) {
        return room[0] + base.code + ((unsigned long)room % 64 != 0);
    }
    return -1;
}
FAR int catches_in_loop(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        volatile char *room = (volatile char *)__builtin_alloca(100 + i);
        room[0] = i;
        try {
            deep(i, i % 5);
        } catch (int value) {
            sum += value + room[0];
        } catch (const char *text) {
            sum += text[0];
        } catch (...) {
            sum += 1000;
        }
    }
    return sum;
}

// Arguments on the stack.
FAR int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    Counted counted;
    if (a) thrower(0);
    return a + b + c + d + e + f + g + h + i + j;
}
FAR int arguments(int n) {
    int result = 0;
    try {
        Counted counted;
        result = many(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) + many(n, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    } catch (int) {
        result = 100 + n;
        try {
            result += many(n, n, n, n, n, n, n, n, n, n);
        } catch (...) {
            result += 1;
        }
    }
    return result;
}

// Constructors: what was made is destroyed.
struct Made {
    Counted a, b;
    Made(int kind) { if (kind >= 0) thrower(kind); }
};
struct Maker : Made {
    Counted c[3];
    Maker(int kind, int inner) : Made(inner) { thrower(kind); }
};
FAR int constructors(int kind, int inner) {
    try {
        Maker maker(kind, inner);
        return 0;
    } catch (int) {
        return 1;
    } catch (Derived &) {
        return 2;
    } catch (...) {
        return 3;
    }
}

FAR int nested() {
    try {
        try {
            thrower(0);
        } catch (int) {
            try {
                thrower(1);
            } catch (Base &base) {
                sink = base.code;
            }
            throw;
        }
    } catch (int i) {
        return i + sink;
    }
    return 0;
}
FAR int again() {
    try {
        try {
            Counted counted;
            thrower(3);
        } catch (Derived &derived) {
            Counted counted;
            sink = derived.what()[0];
            throw;
        }
    } catch (Base &base) {
        return base.what()[0] * 1000 + sink;
    }
    return 0;
}

struct Throws {
    ~Throws() {
        try {
            thrower(1);
        } catch (Base &base) {
            sink += base.code;
        }
    }
};
FAR int in_destructor() {
    sink = 0;
    try {
        Throws throws;
        thrower(0);
    } catch (int) {
        return sink;
    }
    return -1;
}

// Callee-saved registers.
FAR int registers(int a, int b, int c, int d, int e) {
    int x = a * 3 + sink, y = b * 5 + sink, z = c * 7 + sink, w = d * 11 + sink, u = e * 13 + sink, t = a * e + sink;
    try {
        deep(a * b & 7, 0);
    } catch (int i) {
        return x ^ y ^ z ^ w ^ u ^ t ^ i;
    }
    return 0;
}
FAR int more_registers(int a, int b, int c) {
    int x = a * 3, y = b * 5, z = c * 7;
    int result = registers(a, b, c, x, y);
    return result + x * 2 + y * 3 + z * 5;
}

// Through functions of the C library.
static int compare(const void *a, const void *b) {
    Counted counted;
    if (*(const int *)a == 3 || *(const int *)b == 3) throw 33;
    return *(const int *)a - *(const int *)b;
}
FAR int through_sort(int n, int a, int b) {
    int values[20], x = a * 3, y = b * 5;
    for (int i = 0; i < 20; i++) values[i] = (i * 7 + n) % 20;
    try {
        qsort(values, 20, sizeof *values, compare);
    } catch (int i) {
        return x + y + i;
    }
    return -1;
}
FAR int through_search(int a) {
    static const int values[] = {1, 3, 5, 7, 9};
    int key = 3, x = a * 3;
    try {
        return bsearch(&key, values, 5, sizeof *values, compare) != nullptr;
    } catch (int i) {
        return x + i;
    }
}
FAR int through_once() {
    static std::once_flag flag;
    int calls = 0;
    for (int i = 0; i < 4; i++) {
        try {
            std::call_once(flag, [&] { calls++; if (i < 2) throw i; });
        } catch (int thrown) {
            calls += 10 * (thrown + 1);
        }
    }
    return calls;
}

thread_local int local = 5;
FAR void may_throw(int kind) noexcept(false) {
    Counted counted;
    thrower(kind);
}
FAR int lambda(int kind) {
    auto call = [&](int n) {
        Counted counted;
        may_throw(n + kind);
        return local;
    };
    try {
        return call(0);
    } catch (int) {
        return local + 1;
    } catch (...) {
        return local + 2;
    }
}

// Contexts have stacks of their own.
static ucontext_t outside, inside;
static char stack[256 * 1024];
static void context() {
    for (int i = 0;; i++) {
        int caught = 0;
        try {
            Counted counted;
            if (i % 2) swapcontext(&inside, &outside);
            deep(i, 0);
        } catch (int value) {
            caught = value;
        }
        sink += caught * (i + 1);
        swapcontext(&inside, &outside);
    }
}
FAR int contexts() {
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, context, 0);
    sink = 0;
    for (int i = 0; i < 10; i++) {
        try {
            Counted counted;
            swapcontext(&outside, &inside);
            deep(3, 0);
        } catch (int value) {
            sink += 100 * value;
        }
    }
    return sink;
}

// A call that does not throw stands between two that do, whose arguments are on the stack.
FAR static int quiet(int n) {
    sink += n;
    return sink;
}
FAR int nine(long a, long b, long c, long d, long e, long f, long g, long h, long i, int kind) {
    thrower(kind);
    return static_cast<int>(a + b + c + d + e + f + g + h + i);
}
FAR int overwrites(int n) {
    volatile char below[400];
    for (int i = 0; i < 400; i++) below[i] = n;
    return below[n & 127];
}
FAR long catches_between(int kind) {
    volatile long kept[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    long sum = 0;
    try {
        sink += nine(1, 2, 3, 4, 5, 6, 7, 8, 9, 7);
        sink += quiet(kind);
        sink += nine(1, 2, 3, 4, 5, 6, 7, 8, 9, kind);
    } catch (int code) {
        sum = overwrites(code);
    }
    for (int i = 0; i < 8; i++) sum = sum * 10 + kept[i];
    return sum;
}

// gcc aligns to 256 bytes by a move to %spl.
FAR int catches_in_aligned_to_256(int kind) {
    alignas(256) volatile char room[512];
    for (int i = 0; i < 512; i++) room[i] = kind;
    try {
        thrower(kind);
    } catch (int code) {
        return code + room[511] + static_cast<int>(reinterpret_cast<unsigned long>(room) % 256);
    }
    return room[0];
}

__attribute__((noinline)) static long takes_many(int kind, long *room, long c, long d, long e, long f, long g, long h) {
    if (kind > 3) throw kind;
    room[kind] = c + d * e + f * g + h;
    return room[kind] + static_cast<long>(reinterpret_cast<unsigned long>(room) % 64);
}

static long doubles(long x) { return 2 * x; }

static long (*volatile last)(long) = doubles;

/// It goes on in another function, through a pointer, when its aligned frame is gone. Its landing pad jumps to another section.
__attribute__((noinline)) static long goes_on_elsewhere(int kind) {
    long sum;
    try {
        alignas(64) long room[8];
        sum = takes_many(kind, room, kind, kind + 1, kind + 2, kind + 3, kind + 4, kind + 5);
    } catch (int code) {
        return code;
    }
    return last(sum);
}

int main() {
    for (int kind = 0; kind < 6; kind++) {
        try {
            printf("deep %d\n", deep(5, kind));
        } catch (int i) {
            printf("int %d\n", i);
        } catch (Base &base) {
            printf("Base %d %s\n", base.code, base.what());
        } catch (const char *text) {
            printf("text %s\n", text);
        } catch (...) {
            printf("another\n");
        }
        printf("live %d\n", live);
        try {
            printf("variable %d\n", catches_in_variable(1000 + kind, kind));
        } catch (...) {
            printf("variable: another\n");
        }
        try {
            printf("aligned %d\n", catches_in_aligned(kind));
        } catch (...) {
            printf("aligned: another\n");
        }
        printf("constructors %d %d\n", constructors(kind, -1), constructors(-1, kind));
        printf("lambda %d\n", lambda(kind));
        printf("live %d\n", live);
    }
    printf("loop %d\n", catches_in_loop(30));
    printf("arguments %d %d\n", arguments(0), arguments(3));
    printf("between %ld %ld\n", catches_between(0), catches_between(5));
    printf("aligned to 256: %d %d\n", catches_in_aligned_to_256(0), catches_in_aligned_to_256(6));
    printf("elsewhere %ld %ld\n", goes_on_elsewhere(2), goes_on_elsewhere(5));
    printf("nested %d, again %d, destructor %d\n", nested(), again(), in_destructor());
    printf("registers %d %d\n", more_registers(3, 5, 8), more_registers(100, 50, 80));
    printf("sort %d %d, search %d\n", through_sort(1, 4, 5), through_sort(13, 6, 7), through_search(8));
    printf("once %d\n", through_once());
    // However many frames: the unwinder asks for them in parts.
    int sum = 0;
    for (int n = 0; n < 30000; n += n < 150 ? 1 : n) {
        try {
            deep(n, 0);
        } catch (int i) {
            sum += i * (n + 1);
        }
    }
    printf("depths %d\n", sum);
    printf("contexts %d\n", contexts());
    // One is in the context that waits.
    printf("live %d\n", live);
}
