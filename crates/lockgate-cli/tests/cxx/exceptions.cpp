// Exceptions through libstdc++: its own, rethrown, nested, between threads, from destructors' ways and out of static objects.
#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <variant>
#include <vector>

struct Trace {
    std::string name;
    explicit Trace(std::string given) : name(std::move(given)) {}
    ~Trace() { std::cout << "unwound " << name << '\n'; }
};

struct Own : std::runtime_error {
    int code;
    Own(const char *what, int given) : std::runtime_error(what), code(given) {}
};

__attribute__((noinline)) static void deep(int depth) {
    Trace trace("level " + std::to_string(depth));
    if (depth == 0) throw Own("at the bottom", 42);
    deep(depth - 1);
    std::cout << "never\n";
}

static void print_nested(const std::exception &error, int level = 0) {
    std::cout << level << ": " << error.what() << '\n';
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inner) {
        print_nested(inner, level + 1);
    }
}

template <typename F> static void says(F &&function) {
    try {
        function();
        std::cout << "no exception\n";
    } catch (const std::exception &error) {
        std::cout << typeid(error).name() << ": " << error.what() << '\n';
    } catch (int number) {
        std::cout << "int " << number << '\n';
    } catch (...) {
        std::cout << "something\n";
    }
}

static int from_function_try(int value)
try {
    if (value) throw value;
    return 0;
} catch (int thrown) {
    return thrown + 1;
}

struct Guarded {
    static Guarded &get() {
        static Guarded only;
        return only;
    }
    static int attempts;
    Guarded() {
        if (++attempts < 3) throw attempts;
    }
};
int Guarded::attempts;

struct Parts {
    Trace one{"member one"};
    Trace two{"member two"};
    explicit Parts(bool fails) {
        if (fails) throw std::logic_error("in a constructor");
    }
};

int main() {
    try {
        deep(3);
    } catch (const Own &own) {
        std::cout << own.what() << ' ' << own.code << '\n';
    }
    says([] { std::vector<int>().at(5); });
    says([] { std::string("x").substr(7); });
    says([] { std::stoi("no number"); });
    says([] { std::stoi("99999999999999"); });
    says([] { std::get<int>(std::variant<int, std::string>("text")); });
    says([] { std::optional<int>().value(); });
    says([] { std::function<void()>()(); });
    says([] { volatile std::size_t size = std::size_t(1) << 60; delete[] new char[size]; });
    says([] { throw std::system_error(2, std::generic_category(), "opening"); });
    says([] { dynamic_cast<std::ostringstream &>(static_cast<std::ostream &>(std::cout)); });
    says([] { std::istringstream in("x"); in.exceptions(std::ios::failbit); int n; in >> n; });
    says([] { throw 7; });
    says([] { throw "a pointer"; });
    says([] { Parts parts(true); });
    says([] { Parts parts(false); });
    for (int i = 0; i < 3; i++) says([] { Guarded::get(); });
    std::cout << Guarded::attempts << ' ' << from_function_try(0) << from_function_try(4) << '\n';
    try {
        try {
            try {
                throw std::invalid_argument("innermost");
            } catch (...) {
                std::throw_with_nested(std::runtime_error("middle"));
            }
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outermost"));
        }
    } catch (const std::exception &error) {
        print_nested(error);
    }
    // Rethrown, and caught by reference to the same object.
    try {
        try {
            throw Own("changed", 1);
        } catch (Own &own) {
            own.code = 2;
            throw;
        }
    } catch (const Own &own) {
        std::cout << own.code << ' ' << std::uncaught_exceptions() << '\n';
    }
    // From thread to thread.
    std::exception_ptr carried;
    std::thread([&] {
        try {
            deep(1);
        } catch (...) {
            carried = std::current_exception();
        }
    }).join();
    says([&] { std::rethrow_exception(carried); });
    says([&] { std::rethrow_exception(carried); });
    auto future = std::async(std::launch::async, []() -> int { throw std::domain_error("in a task"); });
    says([&] { future.get(); });
    std::promise<int> promise;
    promise.set_exception(std::make_exception_ptr(Own("promised", 3)));
    says([&] { promise.get_future().get(); });
    says([] { std::promise<int> broken; auto future = broken.get_future(); { auto gone = std::move(broken); } future.get(); });
    // Out of an algorithm, and through C code that calls back.
    says([] {
        std::vector<int> values{3, 1, 2};
        std::sort(values.begin(), values.end(), [](int, int) -> bool { throw std::runtime_error("compared"); });
    });
    says([] {
        struct Throwing { bool operator<(const Throwing &) const { throw 5; } };
        std::set<Throwing> set;
        set.insert(Throwing()), set.insert(Throwing());
    });
    // Many, and in a loop: nothing leaks and nothing runs out.
    int caught = 0;
    for (int i = 0; i < 10000; i++) {
        try {
            std::string local("some text that does not fit inside of it");
            if (i % 2) throw std::runtime_error(local);
            throw i;
        } catch (const std::runtime_error &) {
            caught++;
        } catch (int) {
            caught += 2;
        }
    }
    std::cout << caught << '\n';
    std::cout << noexcept(deep(1)) << '\n';
}
