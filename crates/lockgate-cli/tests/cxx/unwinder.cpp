// The unwinder's interface, exceptions of others, threads, RTTI.
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <pthread.h>
#include <typeinfo>
#include <unwind.h>

#define FAR __attribute__((noinline))

static int live;
volatile int sink;
struct Counted {
    int n;
    Counted(int n = 7) : n(n) { __atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST); }
    ~Counted() { __atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST); }
};

FAR int deep(int n) {
    Counted counted(n);
    if (n == 0) throw 5;
    int result = deep(n - 1) + 1;
    sink++;
    return result;
}

static void *thread(void *sum) {
    for (int i = 0; i < 200; i++) {
        try {
            deep(i % 40);
        } catch (int value) {
            *(long *)sum += value;
        }
    }
    return nullptr;
}

FAR std::exception_ptr make(int n) {
    try {
        deep(n);
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}
static std::exception_ptr shared;
static void *other(void *) {
    try {
        Counted counted;
        throw std::bad_alloc();
    } catch (...) {
        shared = std::current_exception();
    }
    return nullptr;
}

static int frames;
static _Unwind_Ptr starts[50], sites[50];
static _Unwind_Reason_Code tell(_Unwind_Context *context, void *) {
    if (frames < 50) {
        int before;
        starts[frames] = _Unwind_GetRegionStart(context);
        sites[frames] = _Unwind_GetIPInfo(context, &before);
    }
    frames++;
    return _URC_NO_REASON;
}
FAR int trace(int n) {
    int result;
    if (n == 0) {
        frames = 0;
        _Unwind_Backtrace(tell, nullptr);
        result = frames;
    } else {
        result = trace(n - 1);
    }
    sink++;
    return result;
}

static void gone(_Unwind_Reason_Code, _Unwind_Exception *) { printf("the foreign one is deleted\n"); }
static _Unwind_Exception foreign, forced;
FAR void raise_foreign() {
    Counted counted;
    foreign.exception_class = 0x1234;
    foreign.exception_cleanup = gone;
    _Unwind_RaiseException(&foreign);
    printf("nobody catches\n");
}

static int stops;
static _Unwind_Reason_Code stop(int, _Unwind_Action action, _Unwind_Exception_Class, _Unwind_Exception *, _Unwind_Context *,
                                void *end) {
    stops++;
    if (action & _UA_END_OF_STACK) return _URC_END_OF_STACK;
    return live == *(int *)end ? _URC_END_OF_STACK : _URC_NO_REASON;
}
FAR int force(int n, int end) {
    Counted counted;
    if (n == 0) {
        // (Never caught: a frame that is cleaned up goes on with _Unwind_Resume, until `stop` has seen enough.)
        printf("ended: %d\n", _Unwind_ForcedUnwind(&forced, stop, &end) == _URC_FATAL_PHASE2_ERROR);
        return 0;
    }
    return force(n - 1, end) + counted.n;
}

struct First {
    virtual ~First() {}
};
struct Second : First {};
FAR First *cast(First *first) { return dynamic_cast<Second *>(first); }

static Counted global(1);
struct Initialised {
    Initialised() {
        try {
            deep(3);
        } catch (int value) {
            sink = value;
        }
    }
};
static Initialised initialised;
FAR int once(int n) {
    static Counted counted = n == 0 ? throw 3 : Counted(4);
    return counted.n;
}

int main() {
    printf("initialised %d\n", sink);
    pthread_t threads[4];
    long sums[4] = {};
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], nullptr, thread, &sums[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], nullptr);
        printf("thread %ld\n", sums[i]);
    }
    printf("live %d\n", live);
    try {
        std::rethrow_exception(make(3));
    } catch (int value) {
        printf("thrown again: %d\n", value);
    }
    pthread_create(&threads[0], nullptr, other, nullptr);
    pthread_join(threads[0], nullptr);
    try {
        Counted counted;
        std::rethrow_exception(shared);
    } catch (std::bad_alloc &error) {
        printf("from a thread: %s\n", error.what());
    }
    int base = trace(0);
    printf("frames %d %d\n", trace(3) - base, trace(10) - base);
    printf("one function %d, %d\n", starts[2] == starts[3], _Unwind_FindEnclosingFunction((void *)sites[3]) == (void *)starts[3]);
    try {
        raise_foreign();
    } catch (...) {
        printf("foreign\n");
    }
    try {
        try {
            raise_foreign();
        } catch (int) {
            printf("wrong\n");
        }
    } catch (...) {
        printf("foreign again\n");
    }
    printf("live %d\n", live);
    Second second;
    First first;
    printf("cast %d %d\n", cast(&second) != nullptr, cast(&first) != nullptr);
    try {
        First &reference = first;
        sink = &dynamic_cast<Second &>(reference) == nullptr;
    } catch (std::bad_cast &error) {
        printf("%s\n", error.what());
    }
    for (int i = 0; i < 3; i++) {
        try {
            printf("once %d\n", once(i));
        } catch (int value) {
            printf("once threw %d\n", value);
        }
    }
    force(0, live + 1);
    printf("stops %d, uncaught %d, live %d\n", stops, std::uncaught_exceptions(), live);
}
