// The program in C++ of tests/differ.rs.
#include "df.hpp"
#include <cinttypes>

static void show(const char *text) { std::printf(" %s", text); }

template <class T> void show_number(const T &value)
{
    if constexpr (std::is_enum_v<T>)
        show_number(df::number_of(value));
    else if (std::is_same_v<T, std::uint64_t>)
        std::printf(" %" PRIu64, static_cast<std::uint64_t>(value));
    else
        std::printf(" %" PRId64, static_cast<std::int64_t>(value));
}

static void show_float(double value)
{
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value)
        show("nan");
    else
        std::printf(" %016" PRIx64, bits);
}

static void show_text(const std::string &text)
{
    std::printf(" \"");
    for (unsigned char byte : text)
        std::printf("%02x", byte);
    std::printf("\"");
}

template <class T> static void show_text(const std::optional<T> &text)
{
    if (text)
        show_text(*text);
    else
        show("null");
}

static void show_error(const df::error &error)
{
    static const char *const kinds[] = {"",       "Start",    "Fault", "Pointer", "String", "Length",
                                        "Handle", "Callback", "Data",  "Null",    "Size",   "Memory"};
    auto kind = static_cast<unsigned>(error.kind());
    std::printf(" E %s", kind < std::size(kinds) ? kinds[kind] : "Value");
}

static std::string a_text(int n)
{
    static const char *const texts[] = {"", "text", "\xc3\xa4", "a somewhat longer text, and no end of it"};
    return texts[n % 4];
}

static void run(int answers, std::uint64_t seed, const std::vector<void (*)(int)> &calls)
{
    for (int n = 0; n < answers; n++)
        for (unsigned i = 0; i < calls.size(); i++) {
            df::df_seed(seed * 1000003 + static_cast<std::uint64_t>(n) * 1009 + i);
            std::printf("%" PRIu64 " %u %d", seed, i, n);
            calls[i](n);
            std::printf(" .\n");
            std::fflush(stdout); // The next one may end the program.
        }
}

// (Where a header says one, there is one or none.)
template <class T, class F> static void show_records(const std::optional<T> &one, F shown)
{
    if (one)
        shown(*one);
}

template <class T, class F> static void show_records(const std::vector<T> &all, F shown)
{
    for (auto &each : all)
        shown(each);
}

template <class T> static void show_box(const T &box) { show(box ? "box" : "null"); }

static void show_place(const std::optional<std::size_t> &place)
{
    if (place)
        show_number(static_cast<std::int64_t>(*place));
    else
        show("null");
}

template <class F> static auto open(F function) -> decltype(function())
{
    try {
        auto box = function();
        show_box(box);
        return box;
    } catch (const df::error &error) {
        show_error(error);
        return {};
    }
}

template <class T, class F> static void close(std::optional<T> &box, F function)
{
    if (!box)
        return;
    try {
        show_number(function(std::move(*box)));
    } catch (const df::error &error) {
        show_error(error);
    }
}
