// Boost.Context: its functions in assembly are the sysroot's in a domain, the rest is its own.
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ctx = boost::context;

struct Noisy {
    const char *name;
    ~Noisy() { std::printf("%s goes\n", name); }
};

static void turns() {
    int value = 0;
    ctx::fiber counter([&](ctx::fiber &&back) {
        Noisy noisy{"the counter"};
        for (double half = 0.5; value < 5; half += value) {
            value++;
            std::printf("%d %.2f\n", value, half);
            back = std::move(back).resume();
        }
        return std::move(back);
    });
    while (counter)
        counter = std::move(counter).resume();
}

static int deep(int n, ctx::fiber &back) {
    Noisy noisy{n % 2 ? "odd" : "even"};
    if (n == 0)
        back = std::move(back).resume();
    else if (n == 7)
        throw std::runtime_error("seven");
    return n ? deep(n - 1, back) + 1 : 0;
}

// A fiber that nobody wants any more ends by an exception of Boost's, through its frames.
static void unwound() {
    ctx::fiber fiber([](ctx::fiber &&back) {
        deep(4, back);
        std::puts("never");
        return std::move(back);
    });
    fiber = std::move(fiber).resume();
    std::puts("it waits");
}

static void thrown() {
    ctx::fiber fiber([](ctx::fiber &&back) {
        try {
            deep(9, back);
        } catch (const std::exception &error) {
            std::printf("caught %s\n", error.what());
        }
        return std::move(back);
    });
    fiber = std::move(fiber).resume();
    std::printf("%s\n", fiber ? "waits" : "is over");
}

// What is thrown on top of a fiber takes the one along that it comes from: it would be unwound otherwise.
struct Enough : std::runtime_error {
    explicit Enough(ctx::fiber &&fiber) : std::runtime_error("enough"), from(std::move(fiber)) {}
    ctx::fiber from;
};

// A function that runs on top of another fiber's frames, and may throw there.
static void on_top() {
    ctx::fiber fiber([](ctx::fiber &&back) {
        for (;;) {
            try {
                back = std::move(back).resume();
                std::puts("resumed");
            } catch (Enough &enough) {
                std::printf("on top of it: %s\n", enough.what());
                return std::move(enough.from);
            }
        }
    });
    fiber = std::move(fiber).resume();
    fiber = std::move(fiber).resume_with([](ctx::fiber &&from) {
        std::puts("on top");
        return std::move(from);
    });
    fiber = std::move(fiber).resume_with([](ctx::fiber &&from) -> ctx::fiber { throw Enough(std::move(from)); });
    std::printf("%s\n", fiber ? "waits" : "is over");
}

// More in all than there is room for at a time; of both kinds of stacks.
static void many() {
    long sum = 0;
    for (int round = 0; round < 40; round++) {
        std::vector<ctx::fiber> fibers;
        for (int number = 0; number < 10; number++) {
            auto body = [&sum, number](ctx::fiber &&back) {
                sum += number;
                back = std::move(back).resume();
                sum += 100 * number;
                return std::move(back);
            };
            if (number % 2)
                fibers.emplace_back(std::allocator_arg, ctx::protected_fixedsize_stack(65536 + 4096 * round), body);
            else
                fibers.emplace_back(std::allocator_arg, ctx::fixedsize_stack(65536 + 512 * round), body);
        }
        for (auto &fiber : fibers)
            fiber = std::move(fiber).resume();
        for (auto &fiber : fibers)
            if (round % 4)
                fiber = std::move(fiber).resume();
    }
    std::printf("%ld\n", sum);
}

int main() {
    turns();
    unwound();
    thrown();
    on_top();
    many();
}
