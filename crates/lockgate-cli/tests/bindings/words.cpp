// Names that the header of bindings has itself have `_` behind them; those of other languages are names like any other.
#include "check.hpp"
#include "words.hpp"

int main()
{
    CHECK(words::def(1) == 2);
    CHECK(words::None(1) == 3);
    CHECK(words::print("four") == 4);
    CHECK(words::type(1) == 7);
    CHECK(words::self(1) == 8);
    CHECK(words::fn(yield) == 1);
    CHECK(words::measure(value, what) == 30);
    text given = words::text_of(5);
    CHECK(given.from == 5 && given.type == 6);
    std::optional<words::memory_> memory = words::memory_new();
    words::del(std::move(memory.value()));
    CHECK(words::memory_new());
    char filled[3] = {};
    int list[3] = {1, 2, 3};
    CHECK(words::size_taken(1000, list) == 3);
    CHECK(words::size_filled(1000, filled) == 3 && filled[2] == 'a');
    CHECK(words::locals(1, 2, 3, 4, 5, 6) == 123456);
    auto [result, call, result_, client, lambda] = words::results();
    CHECK(result == 9 && call == 1 && result_ == 2 && client == 3 && lambda == mro);
    CHECK(words::run_closure(words::closure([](int closure) { return closure + 1; })) == 2);
    CHECK(words::run_enter(words::enter([](int enter) { return enter + 1; })) == 3);
    words::raw raw;
    CHECK(words::raw_begin(raw) == 5 && raw.raw_() == 5);
    words::named named;
    named.named_ = "four";
    CHECK(words::named_length(named) == 4);
}
