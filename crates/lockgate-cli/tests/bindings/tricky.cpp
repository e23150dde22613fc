// The bindings of a library with one function for everything, first as it should be, then hostile.
#include "check.hpp"
#include "tricky.hpp"
#include <unistd.h>

using tricky::error;
using tricky::error_kind;
// (C has a type of that name, too, in no namespace.)
using Notify = tricky::notify;

static void good()
{
    CHECK(tricky::tricky_sum(std::array{1, 2, 3, -4}) == 2);
    char buffer[6] = {};
    CHECK(tricky::tricky_fill(buffer) == 3);
    CHECK(!std::memcmp(buffer, "aaa\0\0", 6));
    auto [grown, length] = tricky::tricky_grow(buffer);
    CHECK(grown == 0 && length == 3 && !std::memcmp(buffer, "ggg", 4));
    CHECK(tricky::tricky_text(1) == "some text");
    CHECK(!tricky::tricky_text(0));
    std::string room(32, '.');
    CHECK(tricky::tricky_print(room, "50 %s") == 5);
    CHECK(room.substr(0, 6) == std::string("50 %s\0", 6));

    tricky::thing thing = tricky::tricky_open(5).value();
    CHECK(tricky::tricky_value(thing) == 5);
    auto replaced = tricky::tricky_replace(std::move(thing));
    CHECK(!thing && replaced.result == 5 && tricky::tricky_value(replaced.thing) == 6);
    FAILS(tricky::tricky_value(thing), error_kind::handle, "thing");
    FAILS(tricky::tricky_close(std::move(thing)), error_kind::handle, "thing");
    replaced = tricky::tricky_replace(std::nullopt);
    CHECK(replaced.result == -1 && tricky::tricky_value(replaced.thing) == 0);
    tricky::tricky_close(std::move(*replaced.thing));
    FAILS(tricky::tricky_value(nullptr), error_kind::fault, ANY);

    std::vector<std::string> heard;
    Notify notify([&](const tricky::text &text, tricky::span<const int> numbers, int n) {
        // Calls nest: what went in with the outer one stays.
        CHECK(tricky::tricky_sum(numbers) == 6);
        heard.push_back(text + std::to_string(numbers[2]) + std::to_string(n));
        return 42;
    });
    CHECK(tricky::tricky_call(notify) == 42);
    CHECK(heard == std::vector<std::string>{"called33"});
    tricky::tricky_set(nullptr);
    CHECK(!tricky::tricky_set(notify));
    CHECK(tricky::tricky_set(nullptr));

    point point = tricky::tricky_mirror({1, 2}, GREEN);
    CHECK(point.x == 2 && point.y == 1);
    ::number number;
    number.d = 5;
    tricky::tricky_halve(number);
    CHECK(number.d == 2.5);
    tricky::named named{"abc", {1, 2, 3}, GREEN, {8, 9}};
    auto [sum, at] = tricky::tricky_named(named);
    CHECK(tricky::number_of(named.colour) == 7);
    CHECK(sum == 13 && at.x == 3 && at.y == 9);
    auto shown = tricky::tricky_show();
    CHECK(shown.size() == 2 && shown[0].name == "first" && shown[1].name == "second" && shown[1].at.x == 7 && shown[1].at.y == 8);
    CHECK(tricky::tricky_matrix(std::vector<double>{1, 2, 3, 4}, 2, 2) == 10);
    CHECK(tricky::tricky_find("find me", 'm') == 5u);
    CHECK(tricky::tricky_find(std::string_view("find me").substr(0, 5), 'm') == std::nullopt);
    try {
        tricky::tricky_open_file("/no/such/file");
        CHECK(false);
    } catch (const error &error) {
        CHECK(error.kind() == error_kind::os && error.number() == ENOENT);
    }
    CHECK(tricky::tricky_count(200) == 200);
}

// What C++'s own side refuses: the library is not called.
static void careless()
{
    std::vector<double> three{1, 2, 3};
    FAILS(tricky::tricky_matrix(three, 2, 2), error_kind::size, "m");
    FAILS(tricky::tricky_matrix({}, LONG_MAX, LONG_MAX), error_kind::size, "m");
    FAILS(tricky::tricky_matrix({}, -1, 2), error_kind::size, "m");
    FAILS(tricky::tricky_find(std::string("a\0b", 3), 0), error_kind::size, "text");
    tricky::named named;
    named.name = std::string("a\0b", 3);
    FAILS(tricky::tricky_named(named), error_kind::size, "name");

    tricky::tricky_set(Notify([](auto &, auto, int) { return 1; }));
    tricky::tricky_set(nullptr);

    // An exception goes through the library's call, and ends it.
    struct mine {
        int number;
    };
    Notify throws([](auto &, auto, int) -> int { throw mine{7}; });
    int caught = 0;
    try {
        tricky::tricky_call(throws);
    } catch (const mine &own) {
        caught = own.number;
    }
    CHECK(caught == 7 && tricky::tricky_sum({}) == 0);
    // Also if what the function owns makes calls when it is destroyed.
    struct calls {
        int number;
        calls(int number) : number(number) {}
        calls(const calls &) = default;
        ~calls()
        {
            try {
                tricky::tricky_matrix({}, 1, 1);
            } catch (const error &) {
                tricky::tricky_sum({});
            }
        }
    };
    caught = 0;
    try {
        tricky::tricky_call(Notify([own = calls(8)](auto &, auto, int) -> int {
            calls unwound(own);
            throw own.number;
        }));
    } catch (int own) {
        caught = own;
    }
    CHECK(caught == 8);

    // One that is running is not run again.
    Notify *again = nullptr;
    Notify recursive([&](auto &, auto, int) {
        FAILS(tricky::tricky_call(*again), error_kind::callback, "closure");
        return 7;
    });
    again = &recursive;
    CHECK(tricky::tricky_call(recursive) == 7);
    Notify moved(std::move(recursive));
    again = &moved;
    CHECK(tricky::tricky_call(moved) == 7);
    FAILS(tricky::tricky_call(recursive), error_kind::callback, "function");

    // Two hundred and fifty-six at a time; places are used again.
    std::vector<Notify> all;
    bool refused = false;
    while (!refused && all.size() < 300)
        try {
            all.emplace_back([](auto &, auto, int) { return 3; });
        } catch (const error &error) {
            refused = error.kind() == error_kind::memory;
            CHECK(refused);
        }
    // (Nor those of two that the library was given with nothing that would tell them from others.)
    CHECK(all.size() + 4 == 256);
    CHECK(tricky::tricky_call(all[100]) == 3);
    all.clear();
    CHECK(tricky::tricky_call(Notify([](auto &, auto, int) { return 4; })) == 4);

    // Of two threads that run one each and call the other's, one is refused, and the other goes on.
    std::atomic<int> running{0}, refusals{0};
    Notify *both[2] = {};
    const auto call_other = [&](int own) {
        return [&, own](auto &, auto, int) {
            if (running.fetch_add(1) > 1)
                return 1;
            while (running < 2)
                std::this_thread::yield();
            try {
                return tricky::tricky_call(*both[1 - own]);
            } catch (const error &error) {
                CHECK(error.kind() == error_kind::callback);
                refusals++;
                return 2;
            }
        };
    };
    Notify first(call_other(0)), second(call_other(1));
    both[0] = &first, both[1] = &second;
    alarm(60);
    std::thread thread([&] { tricky::tricky_call(first); });
    tricky::tricky_call(second);
    thread.join();
    alarm(0);
    CHECK(refusals == 1);
}

#define ATTACK(mode, call, kind, what) \
    do { \
        tricky::tricky_mode(mode); \
        FAILS(call, error_kind::kind, what); \
        tricky::tricky_mode(0); \
    } while (0)

static void hostile()
{
    ATTACK(1, tricky::tricky_text(1), pointer, "result");
    ATTACK(9, tricky::tricky_text(1), pointer, "result");
    ATTACK(2, tricky::tricky_text(1), string, "result");
    std::string buffer("before");
    ATTACK(2, tricky::tricky_print(buffer, "x"), string, "out");
    ATTACK(3, tricky::tricky_fill(buffer), length, "out");
    ATTACK(3, tricky::tricky_grow(buffer), length, "out");
    // Nothing of what a refused call wrote has arrived.
    CHECK(buffer == "before");
    ATTACK(3, tricky::tricky_count(9), length, "result");
    ATTACK(4, tricky::tricky_open(1), handle, "result");
    ATTACK(10, tricky::tricky_open(1), handle, "result");
    auto thing = tricky::tricky_open(1);
    ATTACK(4, tricky::tricky_replace(std::move(thing)), handle, "thing");
    ATTACK(1, tricky::tricky_show(), pointer, "name");
    ATTACK(1, tricky::tricky_find("text", 't'), pointer, "result");

    int calls = 0;
    std::optional<Notify> counts(std::in_place, [&](auto &, auto, int) { return calls++; });
    ATTACK(5, tricky::tricky_set(counts), callback, "result");
    ATTACK(1, tricky::tricky_call(counts), pointer, "text");
    ATTACK(3, tricky::tricky_call(counts), size, "numbers");
    ATTACK(6, tricky::tricky_call(counts), data, "data");
    ATTACK(7, tricky::tricky_call(counts), null, "text");
    ATTACK(8, tricky::tricky_call(counts), size, "numbers");
    CHECK(calls == 0);
    // A function pointer of a closure that is gone.
    auto never = [](auto &, auto, int) -> int { std::abort(); };
    Notify other([](auto &, auto, int) { return 5; });
    counts.reset();
    ATTACK(12, tricky::tricky_call(other), data, "data");
    ATTACK(14, tricky::tricky_call(other), callback, "closure");
    // Nor does it lead to another closure, which may be in its place where user data tells them apart.
    {
        Notify gone([](auto &, auto, int) { return 6; });
        CHECK(tricky::tricky_call(gone) == 6);
    }
    std::optional<Notify> next(std::in_place, never);
    ATTACK(15, tricky::tricky_call(other), callback, "closure");
    tricky::tricky_set(next);
    next.reset();
    {
        Notify last[] = {Notify(never), Notify(never), Notify(never)};
        ATTACK(14, tricky::tricky_call(other), callback, "closure");
    }
    tricky::tricky_set(nullptr);
    ATTACK(13, tricky::tricky_colour(), value, "result");

    try {
        tricky::tricky_crash();
        CHECK(false);
    } catch (const error &crash) {
        CHECK(crash.kind() == error_kind::fault && std::strstr(crash.what(), "tricky.c:"));
    }
    try {
        tricky::tricky_loop();
        CHECK(false);
    } catch (const error &endless) {
        CHECK(endless.kind() == error_kind::fault && std::strstr(endless.what(), "time limit"));
    }
    // And on it goes, on another thread, too.
    good();
    std::thread(good).join();
}

int main()
{
    good();
    careless();
    hostile();
}
