// The C++ layer: what it frees, throws and converts.
#include "check.h"
#include <lockgate.hpp>

using lockgate::pointer;

static std::int32_t times(std::int32_t x) {
    return x * *static_cast<int *>(lg_user_data());
}

static std::int32_t add(std::int32_t a, std::int32_t b) {
    return a + b;
}

static void note(pointer<char> text) {
    CHECK(!text.is_null());
}

int main() {
    lockgate::Module module("guest.lg");
    lockgate::Options options;
    options.name("layer").memory_limit(32 << 20).time_limit(1000).policy(LG_INTEGRITY);
    options.stack_size(1 << 20).thread_limit(4).cpu_limit(100000);
    options.gate("host_add", add).gate("host_note", note);
    lockgate::Domain domain(module, options);

    auto same = domain.bind<std::int32_t(std::int32_t)>("same");
    CHECK(same(7).verify([](int x) { return x == 7; }) == 7);
    CHECK(same(7).verify_or([](int x) { return x < 5; }, 5) == 5);
    CHECK(same(-1).trust("a test") == -1);
    try {
        (void)same(7).verify([](int x) { return x > 100; });
        CHECK(!"7 is not more than 100");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_ARGUMENT && !error.fault());
    }
    CHECK(domain.bind<double(double)>("half")(3).trust("a test") == 1.5);
    CHECK(domain.bind<std::int32_t(std::int32_t, std::int32_t)>("add_by_host")(3, 4).trust("a test") == 7);

    auto text = domain.alloc_string("some text");
    CHECK(domain.bind<std::uint64_t(pointer<char>)>("length")(text).trust("a test") == 9);
    CHECK(domain.read_string(text, 100) == "some text" && domain.read(text + 5).trust("a test") == 't');
    auto copy = domain.bind<pointer<char>(pointer<char>)>("copy")(text);
    CHECK(domain.read_string(copy.trust("read_string takes any pointer"), 9) == "some text");
    auto number = domain.alloc<int>(2);
    domain.write(number + 1, 5);
    CHECK(domain.bind<std::int32_t(pointer<int>)>("read_int")(number + 1).trust("a test") == 5);
    int two[2] = {1, 2};
    domain.write(number, two, 2);
    domain.read(number, two, 2);
    CHECK(two[1] == 2 && number != number + 1 && (number + 1) + -1 == number && number.cast<char>().address());
    domain.free(number);

    int factor = 3;
    auto callback = domain.callback("times", times, &factor);
    auto apply = domain.bind<std::int32_t(pointer<void>, std::int32_t)>("apply");
    CHECK(apply(callback.pointer(), 5).trust("a test") == 16);

    auto crash = domain.bind<void(pointer<int>)>("crash");
    try {
        crash(nullptr);
        CHECK(!"a crash is an exception");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_FAULT && error.fault());
        CHECK(error.fault()->kind == LG_FAULT_SEGV && error.fault()->function == "crash");
        CHECK(error.fault()->domain == "layer" && error.fault()->line > 0 && error.fault()->address == 0);
        CHECK(error.fault()->backtrace.find("crash") != std::string::npos);
        CHECK(std::string(error.what()).find("null pointer") != std::string::npos);
    }
    try {
        domain.bind<std::int64_t(std::int32_t)>("same");
        CHECK(!"another signature");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_SIGNATURE);
    }
    try {
        lockgate::Module nothing("no such file");
        CHECK(!"no such file");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_READ);
    }
    {
        lockgate::Domain passing(lockgate::Module("guest.lg"));
        CHECK(passing.usage().memory > 0);
        passing.reset();
        passing.kill();
    }
    lockgate::handle<lg_pool> pool(lg_pool_new(module.get(), nullptr, 1));
    lockgate::Domain pooled(lg_pool_take(pool));
    CHECK(pooled.bind<std::int32_t()>("count")().trust("a test") == 1);
    return 0;
}
