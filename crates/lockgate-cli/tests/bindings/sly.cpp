// A library that is after its program.
#include "check.hpp"
#include "sly.hpp"

using sly::error;
using sly::error_kind;

int main()
{
    CHECK(sly::sly_sum(std::string("\1\2\xff")) == 258);
    auto handle = sly::sly_box().value();
    std::vector<unsigned char> sevens(64, 7), large(1 << 20, 7);
    auto [place, size] = sly::sly_buffer(handle, 64, sevens);
    CHECK(place && size == 64);
    FAILS(sly::sly_buffer(handle, 8, std::string(9, '\7')), error_kind::size, "contents");
    // An empty container has room for nothing, also where it has no address.
    std::vector<int> none, two(2);
    CHECK(sly::sly_count(none).got == 0 && sly::sly_count(two).got == 2 && two[1] == 1);
    sly::sly_mode(1);
    FAILS(sly::sly_count(none), error_kind::length, "out");
    sly::sly_mode(0);
    // Less is lent than was asked for, at the end of all that there is.
    sly::sly_mode(6);
    FAILS(sly::sly_buffer(handle, 1 << 20, large), error_kind::length, "contents");
    // It goes back with the next call of its handle, to memory that the library does not have.
    FAILS(sly::sly_read(handle), error_kind::pointer, ANY);
    sly::sly_mode(0);
    CHECK(sly::sly_sum(std::string("\1")) == 1);
    FAILS(sly::sly_withdraw(5), error_kind::fault, ANY);
}
