// A program that upsets its own calls: it moves and destroys structures in functions that the library calls, and throws there.
#include "check.hpp"
#include "abrupt.hpp"

using abrupt::error;
using abrupt::error_kind;

// Whatever becomes of a structure in its call, that keeps it: no buffer of the call stays in it, or goes from another.
static void structures_that_move()
{
    enum { MOVED, SWAPPED, DESTROYED, THROWN, ALL };
    for (int what = 0; what < ALL; what++) {
        const int ends = abrupt::abrupt_ends();
        std::vector<unsigned char> out(4096);
        {
            std::optional<abrupt::abrupt_stream> stream(std::in_place), other(std::in_place);
            abrupt::abrupt_begin(*stream);
            abrupt::abrupt_tick tick([&](int) {
                if (what == MOVED)
                    other.emplace(std::move(*stream));
                else if (what == SWAPPED)
                    std::swap(stream, other);
                else if (what == DESTROYED)
                    stream.reset();
                else
                    throw 5;
                return 7;
            });
            try {
                CHECK(abrupt::abrupt_step(*stream, std::string(), out, tick) == 7 && what != THROWN);
            } catch (int) {
                CHECK(what == THROWN);
            }
            CHECK(abrupt::abrupt_ends() == ends + (what == DESTROYED));
            // It takes part in other calls again.
            if (what == SWAPPED || what == MOVED)
                CHECK(abrupt::abrupt_step(*other, std::string(), out, abrupt::abrupt_tick([](int) { return 8; })) == 8);
        }
        CHECK(abrupt::abrupt_ends() == ends + 1 && out == std::vector<unsigned char>(4096));
    }
    // Nor does one that the library makes like another keep the buffers of that one's call.
    std::optional<abrupt::abrupt_stream> copy(std::in_place);
    abrupt::abrupt_stream stream;
    abrupt::abrupt_begin(*copy);
    abrupt::abrupt_begin(stream);
    std::vector<unsigned char> out(4096);
    CHECK(abrupt::abrupt_step(stream, std::string(), out, abrupt::abrupt_tick([&](int) { return abrupt::abrupt_copy(*copy, stream) + 7; })) == 7);
    copy.reset();
    CHECK(out == std::vector<unsigned char>(4096));
    const int ends = abrupt::abrupt_ends();
    FAILS(abrupt::abrupt_end_with(stream, std::string("a\0b", 3)), error_kind::size, "why");
    { abrupt::abrupt_stream gone(std::move(stream)); }
    CHECK(abrupt::abrupt_ends() == ends + 1);
}

// While the last handle is being released, the library has the functions that it was given with it.
static void functions_of_the_last_handle()
{
    const int alive = abrupt::abrupt_alive();
    std::optional<abrupt::abrupt_own> own = abrupt::abrupt_new(), other;
    std::optional<abrupt::abrupt_word> first, second;
    first.emplace([](int) { return 1; });
    abrupt::abrupt_take(*own, *first);
    abrupt::abrupt_tick tick([&](int) {
        second.emplace([](int) { return 2; });
        other = abrupt::abrupt_new();
        abrupt::abrupt_take(*other, *second);
        return 0;
    });
    abrupt::abrupt_hold(*own, tick);
    first.reset();
    FAILS(abrupt::abrupt_free(std::move(*own)), error_kind::callback, ANY);
    // A refused call has ended nothing but the handle.
    FAILS(abrupt::abrupt_close(std::move(*other), std::string("a\0b", 3)), error_kind::size, "why");
    CHECK(abrupt::abrupt_alive() == alive);
    // The library may have the one whose end has failed, with its function, and functions that were given since: no other has a place of theirs.
    second.reset();
    std::vector<abrupt::abrupt_word> words;
    auto fill = [&] {
        while (words.size() < 255)
            words.emplace_back([](int) { return 0; });
    };
    FAILS(fill(), error_kind::memory, "closure");
}

int main()
{
    structures_that_move();
    functions_of_the_last_handle();
}
