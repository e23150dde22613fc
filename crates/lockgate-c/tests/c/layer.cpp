// The C++ layer: what it frees, throws and converts.
#include "check.h"
#include "record.hpp"
#include <cerrno>
#include <functional>
#include <lockgate.hpp>
#include <new>

using lockgate::pointer;
using lockgate::tainted;

enum class Width : std::uint8_t { narrow, wide };
enum class Answer : bool { no, yes };

// Data that the host believes to be a bool or an enumeration has the values of one.
static void values_are_of_their_types(const lockgate::Domain &hostile) {
    bool lie = hostile.bind<bool()>("odd_truth")().trust("a test");
    unsigned char byte;
    std::memcpy(&byte, &lie, 1);
    CHECK(byte == 1);
    auto lies = hostile.bind<pointer<bool>()>("odd_truths")().trust("read() takes any pointer");
    for (std::size_t count : {1, 2}) {
        auto all = hostile.read(lies, count).trust("a test");
        CHECK(all.size() == count && all[0] && (count == 1 || !all[1]));
    }
    lie = hostile.read(lies).trust("a test");
    std::memcpy(&byte, &lie, 1);
    CHECK(byte == 1);
    CHECK(hostile.bind<Width()>("odd_truth")().trust("a test") == Width(238));
    Answer answer = hostile.bind<Answer()>("odd_truth")().trust("a test");
    CHECK(static_cast<int>(answer) == 1);
    answer = hostile.read(lies.cast<Answer>()).trust("a test");
    std::memcpy(&byte, &answer, 1);
    CHECK(byte == 1);

    auto at = hostile.bind<pointer<Record>()>("records")().trust("read() takes any pointer");
    Record second = hostile.read(at, 2).verify([](const std::vector<Record> &all) {
        return all.size() == 2 && all[0].width == 1 && !all[0].wide && all[0].pair[1] == 3;
    })[1];
    std::memcpy(&byte, &second.wide, 1);
    CHECK(second.width == 4 && byte == 1 && second.name.is_null() && second.pair[0] == 5 && second.undeclared == 0);

    // Padding, and what is not declared, does not go to the domain either.
    alignas(Record) unsigned char bytes[sizeof(Record)];
    std::memset(bytes, 0xff, sizeof bytes);
    auto *dirty = new (bytes) Record;
    dirty->width = 7, dirty->wide = true, dirty->name = {}, dirty->pair[0] = dirty->pair[1] = 0;
    auto place = hostile.alloc<Record>();
    hostile.write(place, *dirty);
    CHECK(hostile.bind<std::int32_t(pointer<Record>)>("padding_of")(place).trust("a test") == 0);
    CHECK(hostile.read(place).trust("a test").width == 7);

    for (std::size_t count : {std::size_t(1) << 33, std::size_t(-1) / 2}) {
        try {
            hostile.read(at, count).trust("never");
            CHECK(!"more than a domain can have");
        } catch (const lockgate::Error &error) {
            CHECK(error.status() == LG_E_ARGUMENT);
        }
    }
}

static const lockgate::Domain *reader;

static std::int32_t length_of(pointer<char> text) {
    return static_cast<std::int32_t>(reader->read_string(text, 100).trust("a test").size());
}

static std::int32_t refuse(tainted<std::int32_t> number) {
    static_cast<int *>(lg_user_data())[0]++;
    throw std::out_of_range("no number " + std::to_string(number.trust("a message")));
}

static int end_by_hand(int number) {
    lg_end_call("no number 3");
    return number;
}

// What a domain might say of an exception that another call has left behind.
static int end_with_all_numbers(int number) {
    std::string text = "sorry";
    for (int guess = 0; guess < 40; guess++)
        text += " (exception " + std::to_string(guess) + " of the host)";
    lg_end_call(text.c_str());
    return number;
}

static std::int32_t refuse_otherwise(tainted<std::int32_t>) {
    throw 5;
}

static std::int32_t throw_sum(tainted<std::int32_t>, tainted<std::int32_t>) {
    throw std::out_of_range("no sum");
}

// The call of a domain that ends with another one, which it has called, throws what has left the function that this one called.
static void exceptions_pass_chains() {
    lockgate::Domain server(lockgate::Module("guest.lg"), lockgate::Options().gate<&throw_sum>("host_add"));
    lockgate::Domain client(lockgate::Module("client.lg"));
    lg_on_failure propagates = {1, 0};
    lockgate::check(lg_domain_link(client.get(), "remote", server.get(), "int keep_busy(int)", LG_DEFAULT, &propagates));
    try {
        (void)client.bind<std::int32_t(std::int32_t)>("forward")(3);
        CHECK(!"an exception was thrown");
    } catch (const std::out_of_range &error) {
        CHECK(std::string(error.what()) == "no sum");
    }
}

// It comes out of what starts a domain, too.
static void exceptions_pass_starts() {
    lockgate::Module module("first.lg");
    try {
        lockgate::Domain domain(module, lockgate::Options().gate<&throw_sum>("host_add"));
        CHECK(!"an exception was thrown");
    } catch (const std::out_of_range &error) {
        CHECK(std::string(error.what()) == "no sum");
    }
}

// What leaves a function of the host ends the domain's call and comes out of the call that led there.
static void exceptions_pass_domains(const lockgate::Domain &hostile) {
    reader = &hostile;
    auto wild = hostile.callback<&length_of>();
    try {
        (void)hostile.bind<std::int32_t(pointer<void>)>("pass_wild_text")(wild.pointer());
        CHECK(!"a string that is none");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_INACCESSIBLE);
    }
    int calls = 0;
    auto refusing = hostile.callback<&refuse>(&calls);
    auto twice = hostile.bind<std::int32_t(pointer<void>, std::int32_t)>("pass_twice");
    try {
        (void)twice(refusing.pointer(), 3);
        CHECK(!"an exception was thrown");
    } catch (const std::out_of_range &error) {
        CHECK(std::string(error.what()) == "no number 3" && calls == 1);
    }
    auto odd = hostile.callback<&refuse_otherwise>();
    try {
        (void)twice(odd.pointer(), 3);
        CHECK(!"an exception was thrown");
    } catch (int number) {
        CHECK(number == 5);
    }
    // Whatever it says: a message may quote what the domain has passed.
    struct quoting : std::exception {
        const char *text;
        explicit quoting(const char *text) : text(text) {}
        const char *what() const noexcept override { return text; }
    };
    for (const char *text : {"no name \xff", static_cast<const char *>(nullptr)}) {
        auto quotes = hostile.callback([text](tainted<std::int32_t>) -> std::int32_t { throw quoting(text); });
        try {
            (void)twice(quotes.pointer(), 3);
            CHECK(!"an exception was thrown");
        } catch (const quoting &error) {
            CHECK(error.what() == text);
        }
    }
    // One that a call of lockgate.h has left behind does not come out of another call.
    auto raw = reinterpret_cast<std::int32_t (*)(std::uint64_t, std::int32_t)>(lg_function_pointer(twice.get()));
    raw(refusing.pointer().address(), 3);
    CHECK(lg_failed() && lg_take_call_error() == LG_E_CALLBACK);
    for (auto end : {end_by_hand, end_with_all_numbers}) {
        raw(refusing.pointer().address(), 3);
        lockgate::handle<lg_callback> ending(
            lg_callback_new(hostile.get(), "int end(int)", reinterpret_cast<lg_code>(end), nullptr));
        try {
            (void)twice(pointer<void>(reinterpret_cast<std::uint64_t>(lg_callback_pointer(ending))), 3);
            CHECK(!"the call was ended");
        } catch (const lockgate::Error &error) {
            CHECK(error.status() == LG_E_CALLBACK);
        }
    }
    CHECK(hostile.bind<bool()>("odd_truth")().trust("a test"));
}

// What was moved from is no NULL, which would be options without limits.
template <typename Use> static void throws(Use use) {
    try {
        use();
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_ARGUMENT && std::strstr(error.what(), "moved from"));
        return;
    }
    CHECK(!"it was moved from");
}

static void moved_handles_stand_for_nothing(const lockgate::Module &module) {
    lockgate::Options options;
    options.time_limit(60000).memory_limit(8 << 20);
    lockgate::Options kept(std::move(options));
    throws([&] { lockgate::Domain(module, options); });
    throws([&] { options.name("nothing"); });
    throws([&] { lockgate::handle<lg_pool>(lg_pool_new(module.get(), options.get(), 1)); });
    lockgate::Domain domain(module, kept);
    lg_usage usage;
    CHECK(lg_domain_usage(domain.get(), &usage, sizeof usage) == LG_OK && usage.memory_limit == 8 << 20);
    lockgate::Domain other(std::move(domain));
    throws([&] { domain.bind<int(int)>("same"); });
    throws([&] { domain.get(); });
    CHECK(other.bind<int(int)>("same")(7).trust("its own test") == 7);
    options = std::move(kept);
    lockgate::Domain again(module, options);
}

static void moved_functions_call_nothing(const lockgate::Domain &domain) {
    auto one = domain.bind<std::int32_t(std::int32_t)>("same");
    auto other = std::move(one);
    auto third = domain.bind<double(double)>("half"); // takes the freed place, if there were one
    try {
        (void)one(1);
        CHECK(!"it was moved from");
    } catch (const lockgate::Error &error) {
        CHECK(error.status() == LG_E_ARGUMENT);
    }
    CHECK(other(1).trust("a test") == 1);
    one = std::move(other);
    CHECK(one(1).trust("a test") == 1 && third(2).trust("a test") == 1);
}

static std::int32_t times(tainted<std::int32_t> x) {
    return x.trust("a test") * *static_cast<int *>(lg_user_data());
}

static std::int32_t add(tainted<std::int32_t> a, tainted<std::int32_t> b) noexcept {
    return a.trust("a test") + b.trust("a test");
}

static void note(pointer<char> text) {
    CHECK(!text.is_null());
}

// What is behind a zero byte would be lost on the way: the text for another one.
static void texts_are_whole(const lockgate::Domain &domain) {
    lockgate::Options options;
    const std::string address("127.0.0.1:1\0.example", 20), path("/\0home", 6);
    const std::vector<std::function<void()>> all = {
        [&] { options.listen(address); },
        [&] { options.connect(address); },
        [&] { options.directory(path, ".", false); },
        [&] { options.directory("/here", path, false); },
        [&] { options.name(path); },
        [&] { options.gate<&add>(path); },
        [&] { lockgate::Module(std::string("guest.lg\0x", 10)); },
        [&] { domain.bind<std::int32_t(std::int32_t)>(std::string("same\0x", 6)); },
    };
    for (const auto &one : all) {
        lg_status status = LG_OK;
        try {
            one();
        } catch (const lockgate::Error &error) {
            status = error.status();
            CHECK(std::string(error.what()).find("zero byte") != std::string::npos);
        }
        CHECK(status == LG_E_ARGUMENT);
    }
}

static void what_is_denied_is_told() {
    lockgate::Domain domain(lockgate::Module("guest.lg"), lockgate::Options().connect("127.0.0.1:1"));
    auto says = domain.bind<std::int32_t(std::int32_t)>("says");
    CHECK(domain.denied().empty());
    std::string all;
    for (int port = 10; port < 26; port++) {
        CHECK(says(port).trust("a test") == -EACCES);
        all += "connect to 127.0.0.1:" + std::to_string(port) + ": 1\n";
    }
    CHECK(domain.denied() == all && all.size() > 256);
}

/* Calls that go on without their callers. */
static void detached(const lockgate::Module &module) {
    lockgate::Domain domain(module, lockgate::Options().detached_limit(20));
    const auto ends_with = [](lg_status status, const lockgate::Function<void()> &function) {
        try {
            function();
        } catch (const lockgate::Error &error) {
            return error.status() == status;
        }
        return false;
    };
    CHECK(ends_with(LG_E_DETACHED, domain.bind_within<void()>("spin", 20, LG_DETACH)));
    while (domain.usage().detached_settled < 1)
        ;
    CHECK(domain.usage().detached_failed == 1);
    CHECK(ends_with(LG_E_FAULT, domain.bind_within<void()>("spin", 20)));
    auto same = domain.bind_within<std::int32_t(std::int32_t)>("same", 60000);
    CHECK(same(4).trust("a test") == 4);
}

int main() {
    lockgate::Module module("guest.lg");
    lockgate::Options options;
    options.name("layer").memory_limit(32 << 20).time_limit(60000).policy(LG_INTEGRITY);
    options.stack_size(1 << 20).thread_limit(4).cpu_limit(100000);
    options.max_guest_threads(2).standard_streams().directory("/here", ".", false);
    options.gate<&add>("host_add").gate<&note>("host_note");
    lockgate::Domain domain(module, options);
    auto opens = domain.bind<std::int32_t(pointer<const char>)>("open_file");
    CHECK(opens(domain.alloc_string("/here/guest.lg")).trust("a test") == 0);
    CHECK(opens(domain.alloc_string("/guest.lg")).trust("a test") == -ENOENT);
    CHECK(domain.bind<std::int32_t()>("start_thread")().trust("a test") == 0);

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
    CHECK(domain.read_string(text, 100).trust("a test") == "some text" && domain.read(text + 5).trust("a test") == 't');
    auto copy = domain.bind<pointer<char>(pointer<char>)>("copy")(text);
    CHECK(domain.read_string(copy.trust("read_string takes any pointer"), 9).trust("a test") == "some text");
    auto number = domain.alloc<int>(2);
    domain.write(number + 1, 5);
    CHECK(domain.bind<std::int32_t(pointer<int>)>("read_int")(number + 1).trust("a test") == 5);
    int two[2] = {1, 2};
    domain.write(number, two, 2);
    CHECK(domain.read(number, 2).trust("a test") == (std::vector<int>{1, 2}));
    CHECK(domain.read(number.cast<const int>()).trust("a test") == 1);
    CHECK(number != number + 1 && (number + 1) + -1 == number && number.cast<char>().address());
    domain.free(number);

    {
        lockgate::handle<lg_arena> arena(lg_arena_new(4096));
        int *block = static_cast<int *>(lg_arena_alloc(arena, sizeof *block));
        *block = 6;
        try {
            (void)domain.arena_pointer(block);
            CHECK(!"it is not open");
        } catch (const lockgate::Error &error) {
            CHECK(error.status() == LG_E_NOT_OPEN);
        }
        CHECK(lg_arena_open(arena, domain.get(), LG_READ));
        CHECK(domain.bind<std::int32_t(pointer<int>)>("read_int")(domain.arena_pointer(block)).trust("a test") == 6);
    }

    int factor = 3;
    auto callback = domain.callback<&times>(&factor);
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
    texts_are_whole(domain);
    what_is_denied_is_told();
    moved_functions_call_nothing(domain);
    moved_handles_stand_for_nothing(module);
    detached(module);
    lockgate::Domain hostile(lockgate::Module("hostile.lg"), lockgate::Options().time_limit(10000).gate<&length_of>("host_measure"));
    values_are_of_their_types(hostile);
    exceptions_pass_domains(hostile);
    exceptions_pass_chains();
    exceptions_pass_starts();
    lockgate::handle<lg_pool> pool(lg_pool_new(module.get(), nullptr, 1));
    lockgate::Domain pooled(lg_pool_take(pool));
    CHECK(pooled.bind<std::int32_t()>("count")().trust("a test") == 1);
    return 0;
}
