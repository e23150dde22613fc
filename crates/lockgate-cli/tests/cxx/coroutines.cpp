// Coroutines of C++20, ranges and concepts.
#include <algorithm>
#include <compare>
#include <concepts>
#include <coroutine>
#include <cstdlib>
#include <iostream>
#include <ranges>
#include <span>
#include <source_location>
#include <utility>
#include <vector>

template <typename T> struct Generator {
    struct promise_type {
        T value;
        Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(T given) { value = given; return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
    std::coroutine_handle<promise_type> handle;
    explicit Generator(std::coroutine_handle<promise_type> given) : handle(given) {}
    Generator(Generator &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    ~Generator() { if (handle) handle.destroy(); }
    bool next() { handle.resume(); return !handle.done(); }
};

static Generator<long> fibonacci(int count) {
    struct Leaving { ~Leaving() { std::cout << "left\n"; } } leaving;
    long one = 0, two = 1;
    while (count--) {
        co_yield one;
        one = std::exchange(two, one + two);
    }
}

// Each resumes the other by symmetric transfer: with optimisation any number of them takes no stack.
#ifdef __OPTIMIZE__
static const int STEPS = 100000;
#else
static const int STEPS = 100;
#endif

struct Task {
    struct promise_type {
        std::coroutine_handle<> next = std::noop_coroutine();
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct To {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept { return self.promise().next; }
                void await_resume() noexcept {}
            };
            return To{};
        }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
    std::coroutine_handle<promise_type> handle;
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        handle.promise().next = caller;
        return handle;
    }
    void await_resume() { handle.destroy(); }
};

static Task step(long &sum, int i) {
    sum += i;
    co_return;
}

static Task all(long &sum, int steps) {
    for (int i = 0; i < steps; i++) co_await step(sum, i);
}

struct Version {
    int major, minor;
    auto operator<=>(const Version &) const = default;
};

template <std::integral T> static T twice(T value) { return value * 2; }

int main() {
    auto numbers = fibonacci(10);
    while (numbers.next()) std::cout << numbers.handle.promise().value << ' ';
    std::cout << '\n';
    { auto unfinished = fibonacci(3); unfinished.next(); }
    long sum = 0;
    auto task = all(sum, STEPS);
    task.handle.resume();
    std::cout << sum << ' ' << task.handle.done() << '\n';
    task.handle.destroy();
    auto odd = std::views::iota(1, 20) | std::views::filter([](int n) { return n % 2; }) | std::views::transform(twice<int>) | std::views::take(4);
    for (int n : odd) std::cout << n << ' ';
    std::vector<int> values{3, 1, 2};
    std::ranges::sort(values, std::greater());
    std::cout << values[0] << std::span(values).subspan(1).size() << (Version{1, 2} < Version{1, 3}) << '\n';
    std::cout << std::source_location::current().line() << '\n';
}
