// A handle that a call leaves in its place has the owner that it had.
#include "check.hpp"
#include "owned.hpp"
#include <utility>

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
        CHECK(other.result == 1 && owned::owned_count() == 1 && owned::owned_ends() == 1);
    }
    CHECK(owned::owned_count() == 0 && owned::owned_ends() == 2);
}
