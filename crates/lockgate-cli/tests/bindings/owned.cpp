// A handle that a call leaves in its place has the owner and the life that it had; a function belongs to the lives of the handles that it was passed with.
#include "check.hpp"
#include "owned.hpp"
#include <utility>

using owned::error;
using owned::error_kind;
using tick = std::optional<owned::owned_tick>;

static tick answering(int answer)
{
    return tick(std::in_place, [=](int) { return answer; });
}

// As long as a handle lives that a function was passed with, the library's pointer leads to no other function; then its place is another's.
static void functions_of_lives()
{
    // The library's own lives for good.
    auto shared = owned::owned_default(), other = owned::owned_new();
    tick first = answering(1);
    owned::owned_take(shared, first);
    first.reset();
    tick second = answering(2);
    owned::owned_take(other, second);
    FAILS(owned::owned_fire(shared, 1), error_kind::callback, ANY);
    CHECK(owned::owned_fire(other, 1) == 2);
    // One that a call leaves in its place has the life that it had.
    {
        auto own = owned::owned_new();
        first = answering(1);
        owned::owned_take(own, first);
        auto same = owned::owned_swap(std::move(own), 0);
        first.reset();
        tick third = answering(3);
        owned::owned_take(other, third);
        FAILS(owned::owned_fire(same.owned, 1), error_kind::callback, ANY);
    }
    // One that a call has made has the functions that the call took, whatever becomes of the handle that it was made from.
    {
        auto made = owned::owned_new();
        first = answering(1);
        auto part = owned::part_new(made, first);
        made.reset(), first.reset();
        tick fourth = answering(4);
        owned::owned_take(other, fourth);
        FAILS(owned::part_fire(part, 1), error_kind::callback, ANY);
    }
    // Nor is one over of which the library says that it is not.
    {
        auto own = owned::owned_new();
        first = answering(1);
        owned::owned_take(own, first);
        CHECK(owned::owned_close(std::move(*own), 1) == 1);
        first.reset();
        tick fifth = answering(5);
        owned::owned_take(other, fifth);
        FAILS(owned::owned_late(1), error_kind::callback, ANY);
    }
    {
        auto own = owned::owned_new();
        first = answering(1);
        owned::owned_take(own, first);
        auto swapped = owned::owned_swap(std::move(own), 2);
        CHECK(swapped.result == 1 && swapped.owned);
        first.reset();
        tick sixth = answering(6);
        owned::owned_take(other, sixth);
        FAILS(owned::owned_late(1), error_kind::callback, ANY);
    }
    // With two handles it belongs to both.
    {
        auto own = owned::owned_new(), whole = owned::owned_new();
        first = answering(1);
        auto part = owned::part_new(whole, nullptr);
        owned::owned_both(own, part, first);
        own.reset(), first.reset();
        tick seventh = answering(7);
        owned::owned_take(other, seventh);
        FAILS(owned::part_fire(part, 1), error_kind::callback, ANY);
    }
    // With none, to what the call makes.
    {
        first = answering(1);
        auto own = owned::owned_begin(first);
        first.reset();
        tick eighth = answering(8);
        owned::owned_take(other, eighth);
        FAILS(owned::owned_fire(own, 1), error_kind::callback, ANY);
        for (int turn = 0; turn < 300; turn++) {
            tick one = answering(1);
            CHECK(owned::owned_fire(owned::owned_begin(one), 1) == 1);
        }
    }
    // One after another, beside one that stays.
    for (int turn = 0; turn < 300; turn++) {
        auto own = owned::owned_new();
        tick one = answering(1), two = answering(2);
        for (int i = 0; i < 40; i++)
            owned::owned_take(own, one);
        auto swapped = owned::owned_swap(std::move(own), 1);
        owned::owned_take(swapped.owned, two);
        auto part = owned::part_new(swapped.owned, one);
        part.reset();
        CHECK(owned::owned_close(std::move(*swapped.owned), 0) == 0);
    }
    // The place of one function, with ever new handles.
    tick last = answering(6);
    for (int turn = 0; turn < 1000; turn++)
        owned::owned_take(owned::owned_new(), last);
    owned::owned_take(other, last);
    CHECK(owned::owned_fire(other, 1) == 6);
}

int main()
{
    {
        auto same = owned::owned_swap(owned::owned_default(), 0);
        CHECK(same.result == 0 && same.owned);
    }
    CHECK(owned::owned_ends() == 0);
    {
        auto same = owned::owned_swap(owned::owned_new(), 0);
        auto other = owned::owned_swap(std::move(same.owned), 1);
        CHECK(other.result == 0 && owned::owned_count() == 1 && owned::owned_ends() == 1);
    }
    CHECK(owned::owned_count() == 0 && owned::owned_ends() == 2);
    // What a call has made that failed has ended.
    FAILS(owned::owned_open(1), error_kind::os, ANY);
    CHECK(owned::owned_count() == 0 && owned::owned_open(0).owned);
    functions_of_lives();
}
