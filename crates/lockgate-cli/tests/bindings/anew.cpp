// A domain is begun anew while the program is in a callback of the old one.
#include "anew.hpp"
#include "check.hpp"
#include <string>
#include <thread>
#include <vector>

using anew::error;

// What the error of a call says.
template <class F> static std::string said(F call)
{
    try {
        call();
    } catch (const error &error) {
        CHECK(error.kind() == anew::error_kind::fault);
        return error.what();
    }
    return "nothing";
}

static bool ends(const std::string &text, const std::string &end)
{
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

int main()
{
    std::vector<int> numbers = {1, 2};
    anew::anew_event event([&](int n) {
        std::thread other([&] {
            CHECK(said([] { anew::anew_crash(1); }).find("anew.c:") != std::string::npos);
            CHECK(anew::anew_sum(numbers) == 3);
        });
        other.join();
        CHECK(ends(said([&] { anew::anew_sum(numbers); }), "which this call is made from"));
        return n;
    });
    CHECK(ends(said([&] { anew::anew_each(1, event); }), "that called this function"));
    CHECK(anew::anew_sum(numbers) == 3);

    // The places of functions are free when the domain has ended in which they were passed with a handle.
    for (int turn = 0; turn < 5; turn++) {
        std::vector<anew::anew_plain> functions;
        std::vector<anew::thing> things;
        for (int i = 0; i < 64; i++) {
            functions.emplace_back([](int n) { return n; });
            things.push_back(std::move(*anew::anew_new(1)));
            anew::anew_take(things.back(), functions.back());
        }
        said([] { anew::anew_crash(1); });
        CHECK(anew::anew_sum(numbers) == 3);
    }
}
