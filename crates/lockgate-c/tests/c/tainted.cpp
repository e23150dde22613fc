// The C++ layer: what is computed with values of domains, places in their memory, objects that they
// call, names of the host's objects.
#include "check.h"
#include "record.hpp"
#include <atomic>
#include <functional>
#include <limits>
#include <lockgate.hpp>
#include <thread>

using lockgate::pointer;
using lockgate::tainted;

// What a library's C header declares.
extern "C" {
enum loose { one, two };
struct record;
int same(int x);
int apply(int (*function)(int), int x);
long nested(int (*function)(int), int depth);
size_t length(const char *text);
char *copy(const char *text);
void sort(int *numbers, size_t count, int (*compare)(const void *, const void *));
enum loose loosely(struct record *at, const char **texts, void (*done)(void *));
}

// Nothing of a domain's goes unchecked through `...`.
static_assert(!std::is_trivially_copyable_v<tainted<int>> && !std::is_trivially_copyable_v<lockgate::tainted_volatile<int>>);

static_assert(std::is_same_v<lockgate::of_domain<decltype(copy)>, pointer<char>(pointer<const char>)>);
static_assert(std::is_same_v<lockgate::of_domain<decltype(loosely)>,
                             int(pointer<record>, pointer<pointer<const char>>, pointer<void(pointer<void>)>)>);

static std::int32_t add(tainted<std::int32_t> a, tainted<std::int32_t> b) {
    return (a + b).trust("a test");
}

static void note(pointer<char>) {}

static std::int32_t measure(pointer<char>) {
    return 0;
}

template <typename Act> static bool refused(lg_status status, Act act) {
    try {
        act();
    } catch (const lockgate::Error &error) {
        return error.status() == status;
    }
    return false;
}

// Numbers of a domain's stay tainted, and no number of its ends the program or is undefined.
static void numbers() {
    const int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
    tainted<int> high(most), low(least);
    CHECK((high + 1).trust("a test") == least && (low - 1).trust("a test") == most && (1 - low).trust("a test") == least + 1);
    CHECK((high * high).trust("a test") == 1);
    tainted<unsigned short> small(65535);
    CHECK((small * small).trust("a test") == static_cast<int>(65535u * 65535u));
    static_assert(std::is_same_v<decltype(small + 1), tainted<int>> && std::is_same_v<decltype(small + 1ull), tainted<unsigned long long>>);
    CHECK((tainted<unsigned>(1) - 2).trust("a test") == std::numeric_limits<unsigned>::max());
    CHECK((tainted<double>(1) - 2.5f).trust("a test") == -1.5 && (2.0 * tainted<float>(3)).trust("a test") == 6);
    CHECK((high & 6).trust("a test") == 6 && (low | 1).trust("a test") == least + 1 && (7 ^ tainted<char>(2)).trust("a test") == 5);
    CHECK((low < 0).trust("a test") && (high >= most).trust("a test") && !(high == low).trust("a test") && (high != 3).trust("a test"));
    CHECK((!(high == 3)).trust("a test") && (1 <= high).trust("a test") && (low > high).verify_or([](bool) { return false; }, true));
    CHECK(high.cast<unsigned char>().trust("a test") == 255);
    CHECK(tainted<int>(3).copy_and_verify([](int x) { return x < 9 ? std::string(x, 'a') : throw std::range_error("far"); }) == "aaa");
}

// Tests of numbers, however they are called: each sees what is returned.
static bool below(long x) { return x < 9; }
static bool below_or(long x, ...) noexcept { return x < 9; }
struct Called {
    bool operator()(long x, int most = 9) const volatile &noexcept { return x < most; }
};
struct Moved {
    bool operator()(const double &x) && { return x < 9; }
};
enum class Level : unsigned char { low, high };
template <typename T, typename Test> static bool accepts(T value, Test &&test) {
    const tainted<T> good(value);
    return good.verify(std::forward<Test>(test)) == value;
}

static void tests_see_what_is_returned() {
    const Called called;
    const std::function<bool(long)> function = below;
    CHECK(accepts(3l, below) && accepts(3l, &below) && accepts(3, below) && accepts(3u, std::ref(below)) && accepts(3, below_or));
    CHECK(accepts(3l, called) && accepts(3l, std::cref(called)) && accepts(3, function) && accepts(3, std::cref(function)));
    CHECK(accepts(3.0, Moved()) && accepts(3.0f, Moved()) && accepts(3, Moved()) && accepts('a', [](int x) { return x == 'a'; }));
    CHECK(accepts(3l, [](auto x) { return x++ < 9; }) && accepts(3l, [](auto &&x) { return x < 9; }) && accepts(3l, [](const auto &x) { return x < 9; }));
    CHECK(accepts(3l, [](auto x, auto... more) { return x < 9 && sizeof...(more) == 0; }) && accepts(3l, [least = 1l](auto x) mutable { return x > least++; }));
    CHECK(accepts(true, [](bool x) { return x; }) && accepts(true, [](int x) { return x == 1; }));
    CHECK(accepts(Level::high, [](Level x) { return x == Level::high; }));
    CHECK(accepts(std::string("text"), std::not_fn(&std::string::empty)) && accepts(pointer<int>(8), [](pointer<void> x) { return !x.is_null(); }));
    // A pointer of a domain's is as good as it is.
    const tainted<pointer<int>> place(pointer<int>(8));
    static_assert(std::is_same_v<decltype(place == place), bool> && std::is_same_v<decltype(tainted<int>(1) == 1), tainted<bool>>);
    CHECK(place == place && place != nullptr);
}

static void places(const lockgate::Domain &hostile, const lockgate::Domain &domain) {
    auto at = hostile.bind<pointer<Record>()>("records")();
    auto first = hostile.at(at);
    CHECK(first.copy().get<&Record::width>().trust("a test") == 1);
    CHECK(first.copy().get<&Record::pair>().at(1).trust("a test") == 3);
    CHECK(refused(LG_E_ARGUMENT, [&] { (void)first.get<&Record::pair>()[2]; }));
    tainted<std::int32_t> width = first.get<&Record::width>();
    CHECK(width.trust("a test") == 1);
    first.get<&Record::width>() = 9;
    first.get<&Record::pair>()[1] = std::int16_t(8);
    first.get<&Record::wide>() = tainted<bool>(true);
    auto whole = hostile.read(at).trust("a test");
    CHECK(whole.width == 9 && whole.pair[0] == 2 && whole.pair[1] == 8 && whole.wide);
    CHECK(hostile.bind<std::int32_t(pointer<Record>)>("padding_of")(at).trust("a test") == 77); // not written
    CHECK((*first.get<&Record::name>()).copy().trust("a test") == 'o');
    CHECK(hostile.read_string(first.get<&Record::name>().copy(), 9).trust("a test") == "one");
    // What nothing lies at is an error of the look, not of the place.
    auto wild = hostile.at(pointer<int>(8));
    CHECK(refused(LG_E_INACCESSIBLE, [&] { (void)wild.copy(); }) && refused(LG_E_INACCESSIBLE, [&] { wild = 3; }));

    const int numbers[4] = {4, 3, 2, 1};
    auto block = domain.alloc_copy(numbers, 4);
    auto array = domain.at(block.cast<int[4]>());
    array[1] = 33;
    CHECK(array.copy().at(1).trust("a test") == 33 && array[3].trust("a test") == 1);
    CHECK(array.verify([](const std::array<int, 4> &all) { return all[0] == 4; })[2] == 2);
    try {
        (void)array.copy().at(4);
        CHECK(!"there are four");
    } catch (const std::out_of_range &) {
    }
    array = std::array<int, 4>{1, 2, 3, 4};
    CHECK(domain.read(block, 4).at(3).trust("a test") == 4);
    auto matrix = domain.at(block.cast<short[2][4]>());
    CHECK(matrix[1][2].trust("a test") == 4 && matrix.copy().at(1).at(2).trust("a test") == 4);
    CHECK(domain.buffer(block, 4, LG_READ_WRITE) == reinterpret_cast<void *>(block.address()));
    CHECK(refused(LG_E_INACCESSIBLE, [&] { domain.buffer(block + (1 << 29), 4); }));
    CHECK(refused(LG_E_INACCESSIBLE, [&] { domain.buffer(pointer<char>(reinterpret_cast<std::uint64_t>(&numbers)), 4); }));
    domain.free(block);
}

// Each form of RLBox's copy_and_verify (docs/rlbox.md): of a value, a place, a range, a string, an address, a buffer.
static void everything_is_copied_and_verified(const lockgate::Domain &domain) {
    const int numbers[4] = {4, 3, 2, 1};
    auto block = domain.alloc_copy(numbers, 4);
    auto place = domain.at(block);
    auto small = [](int x) { return x < 9 ? x : throw std::range_error("far"); };
    CHECK(place.copy_and_verify(small) == 4);
    // It is a copy: what the domain writes meanwhile changes nothing of it.
    CHECK(place.copy_and_verify([&](int x) { return domain.write(block, 90), x; }) == 4);
    try {
        (void)place.copy_and_verify(small);
        CHECK(!"it is far now");
    } catch (const std::range_error &) {
    }
    auto array = domain.at(block.cast<int[4]>());
    CHECK(array.copy_and_verify([](std::array<int, 4> all) { return all[0] == 90 && all[3] == 1; }));
    CHECK(domain.read(block, 4).copy_and_verify([](std::vector<int> all) { return all.size() == 4 ? all.at(2) : -1; }) == 2);
    CHECK(domain.read(block + 1, 3).copy_and_verify([&](std::vector<int> all) { return domain.write(block + 1, -1), all[0]; }) == 3);
    CHECK(domain.read(tainted<pointer<int>>(block), 2).copy_and_verify([](const std::vector<int> &all) { return all[1]; }) == -1);
    CHECK(refused(LG_E_INACCESSIBLE, [&] { (void)domain.read(block + (1 << 29), 2).copy_and_verify([](std::vector<int>) { return 0; }); }));

    auto text = domain.alloc_string("text");
    auto length = [](const std::string &copy) { return copy.size(); };
    CHECK(domain.read_string(text, 4).copy_and_verify(length) == 4);
    CHECK(domain.read_string(text, 9).copy_and_verify([](std::string copy) { return copy + "!"; }) == "text!");
    CHECK(refused(LG_E_UNTERMINATED, [&] { (void)domain.read_string(text, 3).copy_and_verify(length); }));
    CHECK(domain.read_string(text, 9).copy_and_verify([&](const std::string &copy) { return domain.write(text.cast<char>(), 'T'), copy; }) == "text");

    const std::uint64_t number = tainted<pointer<int>>(block).copy_and_verify([](pointer<int> at) { return at.address(); });
    CHECK(number == block.address() && place.address().address() == number);
    CHECK(tainted<pointer<int>>(block).copy_and_verify([&](pointer<int> at) { return domain.buffer(at, 4); }) == reinterpret_cast<void *>(number));
    CHECK(refused(LG_E_INACCESSIBLE, [&] {
        (void)tainted<pointer<int>>(block + (1 << 29)).copy_and_verify([&](pointer<int> at) { return domain.buffer(at, 4); });
    }));
    domain.free(text);
    domain.free(block);
}

static void types_of_the_header(const lockgate::Domain &domain) {
    auto text = domain.alloc_string("text");
    CHECK(LOCKGATE_INVOKE(domain, length, text).trust("a test") == 4);
    auto twin = LOCKGATE_BIND(domain, copy)(text);
    CHECK(domain.read_string(twin, 9).trust("a test") == "text" && LOCKGATE_INVOKE(domain, length, twin).trust("a test") == 4);
    domain.free(twin);
    CHECK(domain.invoke<int(int)>("same", 5).trust("a test") == 5);
    CHECK(refused(LG_E_SIGNATURE, [&] { (void)domain.invoke<long(int)>("same", 5); }));
}

static void objects_are_called(const lockgate::Domain &domain) {
    auto call = LOCKGATE_BIND(domain, apply);
    int sum = 0;
    auto adds = domain.callback([&sum](tainted<int> x) { return sum += x.trust("a test"); });
    CHECK(call(adds, 3).trust("a test") == 4 && call(adds, 4).trust("a test") == 8 && sum == 7);
    std::function<int(tainted<int>)> kept = [](tainted<int> x) { return 2 * x.trust("a test"); };
    CHECK(call(domain.callback(kept), 3).trust("a test") == 7);
    CHECK(call(domain.callback<int(tainted<int>)>([](auto x) { return 3 * x.trust("a test"); }), 3).trust("a test") == 10);

    int numbers[] = {3, 1, 2};
    auto block = domain.alloc_copy(numbers, 3);
    int compared = 0;
    auto compare = domain.callback([&](pointer<const void> a, pointer<const void> b) {
        compared++;
        return domain.read(a.cast<const int>()).trust("any order") - domain.read(b.cast<const int>()).trust("any order");
    });
    LOCKGATE_INVOKE(domain, sort, block, 3, compare);
    CHECK(domain.read(block, 3).trust("a test") == (std::vector<int>{1, 2, 3}) && compared > 1);

    // An exception passes; what an object holds goes with it, once.
    auto held = std::make_shared<int>(5);
    {
        auto throws = domain.callback([held](tainted<int>) -> int { throw std::out_of_range("no"); });
        CHECK(held.use_count() == 2);
        try {
            (void)call(throws, 1);
            CHECK(!"an exception was thrown");
        } catch (const std::out_of_range &) {
        }
        auto moved = std::move(throws);
        CHECK(held.use_count() == 2 && refused(LG_E_ARGUMENT, [&] { (void)throws.pointer(); }));
    }
    CHECK(held.use_count() == 1);
    // A binding that fails keeps nothing.
    CHECK(refused(LG_E_NO_POINTERS, [&] {
        std::vector<lockgate::ObjectCallback<int(tainted<int>)>> many;
        for (;;)
            many.push_back(domain.callback<int(tainted<int>)>([held](tainted<int>) { return 1; }));
    }));
    CHECK(held.use_count() == 1);

    // It ends within a call of its own, with another in its place: the object outlives its call.
    std::unique_ptr<lockgate::ObjectCallback<int(tainted<int>)>> own;
    own = std::make_unique<lockgate::ObjectCallback<int(tainted<int>)>>(
        domain.callback<int(tainted<int>)>([&own, held, &domain](tainted<int> x) {
            own.reset();
            auto other = domain.callback([](tainted<int>) { return -1; });
            CHECK(held.use_count() == 2 && *held == 5);
            return x.trust("a test");
        }));
    CHECK(call(own->pointer<int(int)>(), 6).trust("a test") == 7 && !own && held.use_count() == 1);
}

// A thread that a domain's call has given an object's number may be late: another object may have the
// place by then.
static void numbers_of_places_have_generations() {
    using lockgate::detail::Place;
    auto held = std::make_shared<int>(1);
    Place *place = Place::with([held] { return 1; });
    void *late = place->number();
    {
        Place::Visit visit(late);
        place->close();
        CHECK(held.use_count() == 2 && refused(LG_E_CALLBACK, [&] { Place::Visit second(late); }));
    }
    CHECK(held.use_count() == 1 && refused(LG_E_CALLBACK, [&] { Place::Visit second(late); }));
    Place *other = Place::with([held] { return 2; });
    CHECK(other == place && other->number() != late && refused(LG_E_CALLBACK, [&] { Place::Visit second(late); }));
    other->close();
    CHECK(held.use_count() == 1);
}

// Callbacks end and others begin while threads call: a call finds the object that it was made for,
// or none.
static void objects_end_among_calls() {
    static std::atomic<int> alive{0};
    struct Object {
        std::uint64_t mark = 0x600d;
        Object() { alive++; }
        Object(const Object &) { alive++; }
        ~Object() { mark = 0, alive--; }
    };
    lockgate::Domain domain(lockgate::Module("guest.lg"), lockgate::Options().thread_limit(4).gate<&add>("host_add").gate<&note>("host_note"));
    std::atomic<std::uint64_t> now{0};
    std::atomic<bool> stop{false};
    std::atomic<long> called{0}, gone{0};
    std::vector<std::thread> callers;
    for (int count = 0; count < 2; count++)
        callers.emplace_back([&] {
            auto call = LOCKGATE_BIND(domain, apply);
            while (!stop) {
                try {
                    CHECK(call(pointer<int(int)>(now), 41).trust("a test") == 42);
                    called++;
                } catch (const lockgate::Error &error) {
                    CHECK(error.status() == LG_E_CALLBACK || error.status() == LG_E_FAULT);
                    gone++;
                }
            }
        });
    const int rounds = std::getenv("LOCKGATE_THOROUGH") ? 2000 : 400;
    for (int round = 0; round < rounds || called < 100; round++) {
        auto callback = domain.callback([object = Object()](tainted<int> x) {
            CHECK(object.mark == 0x600d);
            return x.trust("a test");
        });
        now = callback.pointer().address();
        const long before = called + gone;
        for (int look = 0; look < 50 && called + gone == before; look++)
            std::this_thread::yield();
    }
    stop = true;
    for (auto &caller : callers)
        caller.join();
    CHECK(called >= 100 && alive == 0);
}

static void names_of_objects(const lockgate::Domain &domain) {
    struct State {
        int count = 0;
    } state;
    lockgate::AppPointers<State> states;
    pointer<void> old;
    {
        auto name = states.name(state);
        old = name;
        // The module hands it back, as the user data of a callback.
        auto back = domain.invoke<pointer<void>(pointer<void>)>("through", name);
        states.find(back).count++;
        CHECK(state.count == 1);
        CHECK(refused(LG_E_ARGUMENT, [&] { states.find(pointer<void>(old.address() + 1)); }));
        auto moved = std::move(name);
        CHECK(&states.find(old) == &state);
    }
    CHECK(refused(LG_E_ARGUMENT, [&] { states.find(old); }));
    auto other = states.name(state);
    CHECK(other.pointer() != old);
    // Names may outlive their table.
    auto gone = std::make_unique<lockgate::AppPointers<State>>();
    auto last = gone->name(state);
    gone.reset();
    CHECK(last.pointer() != pointer<void>());
}

int main() {
    lockgate::Module module("guest.lg");
    lockgate::Domain domain(module, lockgate::Options().gate<&add>("host_add").gate<&note>("host_note"));
    lockgate::Domain hostile(lockgate::Module("hostile.lg"), lockgate::Options().gate<&measure>("host_measure"));
    numbers();
    tests_see_what_is_returned();
    places(hostile, domain);
    everything_is_copied_and_verified(domain);
    types_of_the_header(domain);
    objects_are_called(domain);
    numbers_of_places_have_generations();
    objects_end_among_calls();
    names_of_objects(domain);
    return 0;
}
