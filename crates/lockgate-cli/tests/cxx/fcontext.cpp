// The interface that libraries of fibers use beneath Boost.Context's classes: jump_fcontext, ontop_fcontext and make_fcontext.
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

typedef void *fcontext_t;
struct transfer {
    fcontext_t from;
    void *data;
};
extern "C" transfer jump_fcontext(fcontext_t to, void *data);
extern "C" transfer ontop_fcontext(fcontext_t to, void *data, transfer (*function)(transfer));
extern "C" fcontext_t make_fcontext(void *top, std::size_t size, void (*function)(transfer));

static constexpr std::size_t SIZE = 128 * 1024;

struct Stack {
    char *memory = static_cast<char *>(std::malloc(SIZE));
    ~Stack() { std::free(memory); }
    fcontext_t context(void (*function)(transfer)) { return make_fcontext(memory + SIZE, SIZE, function); }
};

static void *number(long n) { return reinterpret_cast<void *>(n); }
static long number(transfer t) { return reinterpret_cast<long>(t.data); }

// A function of a context may not return: it goes on for ever.
static void adds(transfer t) {
    long sum = 0;
    for (;;)
        t = jump_fcontext(t.from, number(sum += number(t)));
}

static void values() {
    Stack one, other;
    transfer first = {one.context(adds), nullptr}, second = {other.context(adds), nullptr};
    for (long n = 1; n < 6; n++) {
        first = jump_fcontext(first.from, number(n));
        second = jump_fcontext(second.from, number(10 * number(first)));
        std::printf("%ld %ld\n", number(first), number(second));
    }
}

// Each context has control words of its own; one that begins has those with which it was made.
static void words() {
    volatile double one = 1, three = 3, ten = 10;
    volatile long double wide = 1, thirds = 3;
    auto quotients = [&] { std::printf("%.17g %.17g %.20Lg\n", one / three, one / ten, wide / thirds); };
    static decltype(quotients) *print;
    print = &quotients;
    Stack stack;
    std::fesetround(FE_UPWARD);
    transfer t = {stack.context([](transfer t) {
        (*print)();
        std::fesetround(FE_DOWNWARD);
        for (;;) {
            t = jump_fcontext(t.from, nullptr);
            (*print)();
        }
    }), nullptr};
    std::fesetround(FE_TONEAREST);
    for (int i = 0; i < 3; i++) {
        t = jump_fcontext(t.from, nullptr);
        quotients();
    }
}

// On top of a context that has not begun, and of one that waits, where it may throw.
static void tops() {
    Stack stack;
    fcontext_t context = stack.context([](transfer t) {
        for (;;) {
            try {
                std::printf("goes on with %ld\n", number(t));
                t = jump_fcontext(t.from, number(-number(t)));
            } catch (const transfer &thrown) {
                std::printf("caught %ld\n", number(thrown));
                t = thrown;
            }
        }
    });
    auto doubles = [](transfer t) {
        std::printf("on top of it: %ld\n", number(t));
        return transfer{t.from, number(2 * number(t))};
    };
    transfer t = ontop_fcontext(context, number(21), doubles);
    std::printf("back with %ld\n", number(t));
    t = ontop_fcontext(t.from, number(4), doubles);
    std::printf("back with %ld\n", number(t));
    t = ontop_fcontext(t.from, number(5), [](transfer t) -> transfer { throw t; });
    std::printf("back with %ld\n", number(t));
}

static thread_local long own = 1;
static __attribute__((noinline)) long &mine() {
    __asm__ volatile("");
    return own;
}

// A context that goes on in another thread has that one's variables.
static void threads() {
    Stack stack;
    transfer t = {stack.context([](transfer t) {
        for (;;)
            t = jump_fcontext(t.from, number(mine() += number(t)));
    }), nullptr};
    t = jump_fcontext(t.from, number(10));
    std::printf("%ld\n", number(t));
    std::thread([&] {
        own = 1000;
        t = jump_fcontext(t.from, number(20));
        std::printf("%ld %ld\n", number(t), own);
    }).join();
    t = jump_fcontext(t.from, number(30));
    std::printf("%ld %ld\n", number(t), own);
}

// Contexts whose memory is used again are over; of those that are alive, each finds its frames as it left them.
static long digs(long n, fcontext_t &from) {
    volatile long frame[20];
    for (volatile long &word : frame) word = n;
    if (n == 0)
        from = jump_fcontext(from, nullptr).from;
    long sum = n ? digs(n - 1, from) : 0;
    for (long word : frame) sum += word;
    return sum;
}

static void many() {
    long sum = 0;
    std::vector<Stack> stacks(12);
    for (int round = 0; round < 30; round++) {
        std::vector<transfer> waiting;
        for (Stack &stack : stacks) {
            fcontext_t made = stack.context([](transfer t) {
                long depth = number(t);
                for (;;) {
                    long sum = digs(depth, t.from);
                    t = jump_fcontext(t.from, number(sum));
                }
            });
            waiting.push_back(jump_fcontext(made, number(10 + long(waiting.size()))));
        }
        if (round % 3)
            for (transfer &t : waiting)
                sum += number(t = jump_fcontext(t.from, number(3)));
    }
    std::printf("%ld\n", sum);
}

int main() {
    values();
    words();
    tops();
    threads();
    many();
}
