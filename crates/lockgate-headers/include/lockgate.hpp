// lockgate.hpp - Lockgate for C++17: handles that free themselves, errors as exceptions, and values
// of domains that a program cannot use before it has checked them. Header-only, over lockgate.h,
// which is the manual.
//
//     lockgate::Domain domain(lockgate::Module("cube.lg"));
//     auto cube_root = domain.bind<double(double)>("cube_root");
//     double y = cube_root(27.0).verify([](double y) { return y >= 0; });
//
// Values that come from a domain are tainted: results, copies by Domain::read(), and the arguments
// of functions that a domain calls. A tainted<T> does not convert or index; the result of computing
// or comparing with a tainted number is tainted, too. verify() takes the value out if a test
// accepts it, and throws otherwise; copy_and_verify() passes it to a function and returns that
// function's result; trust() takes it out where any value is acceptable. A program cannot follow a
// pointer<T> of a domain: Domain::read() copies the memory, and Domain::at() gives a
// tainted_volatile<T>, a place that is read and written piece by piece. So a tainted<pointer<T>> is
// as good as a pointer<T>, which it converts to: comparing either gives a bool.
//
// The C header of a library gives the types: LOCKGATE_BIND(domain, deflate) binds the function by
// the type that the header declares, with a pointer<T> for each T *.
//
// Plain data crosses: numbers, bool, enumerations of a fixed type, pointer<T>, arrays of these, and
// structures whose members are declared:
//
//     struct Header { std::uint32_t width; bool wide; lockgate::pointer<char> name; };
//     template <> inline constexpr auto lockgate::fields<Header> =
//         lockgate::members(&Header::width, &Header::wide, &Header::name);
//
// Members that are not declared stay zero, and padding never crosses. A bool is true for any byte
// but 0, as in C.
//
// Exceptions may leave a function that a domain calls, unlike functions given to lockgate.h: the
// domain's call ends, and the call of the Function that led there throws the exception. (Not in a
// child that was forked in there, nor to the thread that waits for a call on a worker: they get the
// error of lockgate.h, and the worker keeps the exception until its next one or its end.)
//
// Threads: as lockgate.h says; an object of this header is as thread-safe as a std::unique_ptr.
// Cost: that of lockgate.h, and a look at one word after each call. You may destroy objects in any
// order.
#ifndef LOCKGATE_HPP
#define LOCKGATE_HPP

#include <lockgate.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/random.h>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockgate {

// A copy of lg_fault that owns its strings.
struct Fault {
    lg_fault_kind kind;
    int detail;
    std::string report, reason, domain, module, entry_point, function, file, backtrace;
    unsigned line;
    lg_access access;
    bool has_address;
    std::uint64_t address;
    lg_registers registers;

    explicit Fault(const lg_fault &from)
        : kind(from.kind), detail(from.detail), report(text(from.report)), reason(text(from.reason)),
          domain(text(from.domain)), module(text(from.module)), entry_point(text(from.entry_point)),
          function(text(from.function)), file(text(from.file)), backtrace(text(lg_last_backtrace())),
          line(from.line), access(from.access), has_address(from.has_address != 0), address(from.address),
          registers(from.registers) {}

  private:
    static std::string text(const char *from) { return from ? from : ""; }
};

// The calling thread's last error, thrown.
class Error : public std::runtime_error {
  public:
    Error() : std::runtime_error(lg_last_message()), status_(lg_last_status()) {
        if (const lg_fault *fault = lg_last_fault())
            fault_ = std::make_shared<Fault>(*fault);
    }

    Error(lg_status status, const std::string &what) : std::runtime_error(what), status_(status) {}

    lg_status status() const noexcept { return status_; }

    // The fault in the domain, or null if the error was no fault.
    const Fault *fault() const noexcept { return fault_.get(); }

  private:
    lg_status status_;
    std::shared_ptr<const Fault> fault_;
};

namespace detail {
[[noreturn]] inline void throw_error();
}

inline void check(lg_status status) {
    if (status != LG_OK)
        detail::throw_error();
}

template <typename T> T *check(T *made) {
    if (!made)
        detail::throw_error();
    return made;
}

// ---- Values of domains ---------------------------------------------------------------------------------------------

template <typename T> class pointer;

namespace detail {

// The text, of which C would read the part before a zero byte: a wider path, another address.
inline const char *c_text(const std::string &text) {
    if (text.find('\0') != std::string::npos)
        throw Error(LG_E_ARGUMENT, "a text for the library has a zero byte in it");
    return text.c_str();
}

// Whether a pointer<From> is a pointer<To>, as a From * would be a To *.
template <typename From, typename To> inline constexpr bool converts = std::is_convertible_v<From *, To *>;

} // namespace detail

// A pointer of a domain. Its bits may be anything; functions of the domain take it, Domain::read
// and write go through it.
template <typename T> class pointer {
  public:
    pointer() = default;
    pointer(std::nullptr_t) {}
    explicit pointer(std::uint64_t address) : address_(address) {}

    // As in C++: to const, and to void.
    template <typename U, typename = std::enable_if_t<!std::is_same_v<U, T> && detail::converts<U, T>>>
    pointer(pointer<U> other) : address_(other.address()) {}

    std::uint64_t address() const { return address_; }
    bool is_null() const { return (address_ & 0xffffffff) == 0; }
    template <typename U> pointer<U> cast() const { return pointer<U>(address_); }

    // The pointer `count` values further, within the window.
    pointer operator+(std::ptrdiff_t count) const {
        const std::uint64_t low = 0xffffffff, size = std::is_void_v<T> ? 1 : sizeof(one);
        return pointer((address_ & ~low) | ((address_ + static_cast<std::uint64_t>(count) * size) & low));
    }

    friend bool operator==(pointer a, pointer b) { return a.address_ == b.address_; }
    friend bool operator!=(pointer a, pointer b) { return a.address_ != b.address_; }

    // Misuse, with a message.
    template <typename U = T> std::add_lvalue_reference_t<U> operator*() const {
        static_assert(sizeof(std::remove_reference_t<U> *) == 0, "a pointer of a domain is none of the host's: Domain::read() copies what it leads to");
    }
    template <typename U = T> U *operator->() const {
        static_assert(sizeof(U *) == 0, "a pointer of a domain is none of the host's: Domain::read() copies what it leads to");
        return nullptr;
    }
    template <typename U = T> std::add_lvalue_reference_t<U> operator[](std::ptrdiff_t) const {
        static_assert(sizeof(std::remove_reference_t<U> *) == 0, "a pointer of a domain is none of the host's: Domain::read() copies what it leads to");
    }

  private:
    using one = std::conditional_t<std::is_void_v<T>, char, T>;
    std::uint64_t address_ = 0;
};

// ---- Plain data -------------------------------------------------------------------------------------------------------

// The members of a structure that cross; the head of this header has an example.
template <typename... M> constexpr std::tuple<M...> members(M... pointers) {
    return {pointers...};
}

// members(…) for structures that may cross: specialise it.
template <typename T> inline constexpr auto fields = nullptr;

namespace detail {

template <typename T> struct is_pointer_of_domain : std::false_type {};
template <typename T> struct is_pointer_of_domain<pointer<T>> : std::true_type {};

// Enumerations that may have every value of the underlying type, by the rules of C++.
template <typename T, typename = void> struct is_fixed_enum : std::false_type {};
template <typename T>
struct is_fixed_enum<T, std::enable_if_t<std::is_enum_v<T>, std::void_t<decltype(T{std::underlying_type_t<T>{}})>>> : std::true_type {};

template <typename T> inline constexpr bool is_declared = !std::is_same_v<std::remove_cv_t<decltype(fields<T>)>, std::nullptr_t>;

template <typename T, bool = is_fixed_enum<T>::value> struct number_of {
    using type = T;
};
template <typename T> struct number_of<T, true> {
    using type = std::underlying_type_t<T>;
};

// The underlying number of an enumeration of a fixed type; other types are themselves.
template <typename T> using number = typename number_of<T>::type;

// Data whose bytes may be anything, so that a domain may write them.
template <typename T> inline constexpr bool is_any_bytes =
    (std::is_arithmetic_v<number<T>> && !std::is_same_v<number<T>, bool> && !std::is_same_v<T, long double>) ||
    is_pointer_of_domain<T>::value;

template <typename T> constexpr bool is_plain();

template <typename T, typename... M> constexpr bool are_plain(const std::tuple<M T::*...> &) {
    return (is_plain<M>() && ...);
}

// Arrays, C's and std::array.
template <typename T> struct array_of {
    static constexpr bool is = false;
};
template <typename T, std::size_t count> struct array_of<T[count]> {
    static constexpr bool is = true;
    static constexpr std::size_t size = count;
    using element = T;
};
template <typename T, std::size_t count> struct array_of<std::array<T, count>> : array_of<T[count]> {};
template <typename T> struct array_of<std::array<T, 0>> {
    static constexpr bool is = false;
};

// The type that a copy has: C's arrays become a std::array, which is a value.
template <typename T> struct value_of {
    using type = std::remove_cv_t<T>;
};
template <typename T, std::size_t count> struct value_of<T[count]> {
    using type = std::array<typename value_of<T>::type, count>;
};

template <typename T> typename value_of<T>::type as_value(const T &from) {
    if constexpr (std::is_array_v<T>) {
        typename value_of<T>::type to{};
        for (std::size_t number = 0; number < to.size(); number++)
            to[number] = as_value(from[number]);
        return to;
    } else {
        return from;
    }
}

template <typename T> constexpr bool is_plain() {
    if constexpr (array_of<T>::is)
        return is_plain<typename array_of<T>::element>();
    else if constexpr (is_declared<T>)
        return std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && are_plain<T>(fields<T>);
    else
        return std::is_same_v<number<T>, bool> || is_any_bytes<T>;
}

// Calls `act` with each declared member and its place in the structure.
template <typename T, typename Act> void each_member(T &value, Act act) {
    const auto place = [&value](auto &member) {
        return static_cast<std::size_t>(reinterpret_cast<const char *>(&member) - reinterpret_cast<const char *>(&value));
    };
    std::apply([&](auto... member) { (act(value.*member, place(value.*member)), ...); }, fields<std::remove_const_t<T>>);
}

// The value that a domain's bytes stand for.
template <typename T> void decode(T &value, const unsigned char *bytes) {
    if constexpr (array_of<T>::is) {
        for (auto &element : value)
            decode(element, bytes), bytes += sizeof element;
    } else if constexpr (is_declared<T>) {
        each_member(value, [bytes](auto &member, std::size_t at) { decode(member, bytes + at); });
    } else if constexpr (std::is_same_v<number<T>, bool>) {
        value = static_cast<T>(*bytes != 0);
    } else {
        std::memcpy(&value, bytes, sizeof value);
    }
}

// The bytes for a domain; `bytes` are zero.
template <typename T> void encode(const T &value, unsigned char *bytes) {
    if constexpr (array_of<T>::is) {
        for (const auto &element : value)
            encode(element, bytes), bytes += sizeof element;
    } else if constexpr (is_declared<T>) {
        each_member(value, [bytes](const auto &member, std::size_t at) { encode(member, bytes + at); });
    } else {
        std::memcpy(bytes, &value, sizeof value);
    }
}

// Whether `member` is one of those that are declared.
template <auto member, typename T> constexpr bool is_member() {
    if constexpr (is_declared<T>)
        return std::apply(
            [](auto... declared) {
                const auto same = [](auto one) {
                    if constexpr (std::is_same_v<decltype(one), std::remove_const_t<decltype(member)>>)
                        return one == member;
                    else
                        return false;
                };
                return (same(declared) || ...);
            },
            fields<T>);
    else
        return false;
}

struct Inside;

template <typename T> struct is_taintable : std::bool_constant<is_plain<T>()> {};
template <typename T> struct is_taintable<std::vector<T>> : std::bool_constant<is_plain<T>()> {};
template <> struct is_taintable<std::string> : std::true_type {};

// Whether a number of type To has each value that one of type From can have.
template <typename From, typename To> constexpr bool has_each() {
    using from = std::numeric_limits<From>;
    using to = std::numeric_limits<To>;
    if constexpr (std::is_floating_point_v<From>)
        return std::is_floating_point_v<To> && to::digits >= from::digits;
    else
        return (to::is_signed || !from::is_signed) && to::digits >= from::digits;
}

// The first parameter of a function, whatever follows it and however it is called.
template <typename Function> struct first;
#define LOCKGATE_FIRST(called)                                                                                        \
    template <typename R, typename A, typename... More> struct first<R(A, More...) called> { using type = A; };       \
    template <typename R, typename A, typename... More> struct first<R(A, More..., ...) called> { using type = A; };
#define LOCKGATE_FIRST_OF_EACH(reference)                                                                             \
    LOCKGATE_FIRST(reference)                                                                                         \
    LOCKGATE_FIRST(const reference)                                                                                   \
    LOCKGATE_FIRST(volatile reference)                                                                                \
    LOCKGATE_FIRST(const volatile reference)
LOCKGATE_FIRST_OF_EACH()
LOCKGATE_FIRST_OF_EACH(&)
LOCKGATE_FIRST_OF_EACH(&&)
LOCKGATE_FIRST_OF_EACH(noexcept)
LOCKGATE_FIRST_OF_EACH(& noexcept)
LOCKGATE_FIRST_OF_EACH(&& noexcept)
#undef LOCKGATE_FIRST_OF_EACH
#undef LOCKGATE_FIRST

// The same of the function that a member or a pointer leads to.
template <typename Function> struct takes : first<Function> {};
template <typename Function> struct takes<Function *> : first<Function> {};
template <typename Function, typename Class> struct takes<Function Class::*> : first<Function> {};
template <typename Function> using taken = std::remove_cv_t<std::remove_reference_t<typename takes<Function>::type>>;

// Whether a parameter has each value of T, a number: it is of the same type, or another number that
// is as wide. (A class may be made from a narrower number, which nothing tells here.)
template <typename T, typename A> constexpr bool has_each_of() {
    if constexpr (std::is_same_v<T, A>)
        return true;
    else if constexpr (std::numeric_limits<A>::is_specialized && !std::is_class_v<A>)
        return has_each<number<T>, A>();
    else
        return false;
}

// Whether a test looks at the value itself, where that is a number. A test of an unknown form does
// not: of several call operators, and of an object that std::bind or std::not_fn has made, nothing
// tells here which parameter the value comes to. (One that is a template takes the value's own
// type.)
template <typename T, typename Test, typename = void> struct looks_at_template : std::false_type {};
template <typename T, typename Test>
struct looks_at_template<T, Test, std::void_t<taken<decltype(&Test::template operator()<T>)>>>
    : std::is_same<T, taken<decltype(&Test::template operator()<T>)>> {};

template <typename T, typename Test, typename = void> struct looks_at : looks_at_template<T, Test> {};
template <typename T, typename Function>
struct looks_at<T, Function *, std::void_t<taken<Function>>> : std::bool_constant<has_each_of<T, taken<Function>>()> {};
template <typename T, typename Test>
struct looks_at<T, Test, std::void_t<taken<decltype(&Test::operator())>>>
    : std::bool_constant<has_each_of<T, taken<decltype(&Test::operator())>>()> {};
template <typename T, typename Test> struct looks_at<T, std::reference_wrapper<Test>, void> : looks_at<T, std::decay_t<Test>> {};

template <typename T, typename Test>
struct tests : std::disjunction<std::bool_constant<!std::is_arithmetic_v<number<T>>>, looks_at<T, Test>> {};

} // namespace detail

// A value that a domain made: check it before you use it.
//
// Sums, differences, products and bits of tainted numbers are tainted; those of integers wrap.
// There is no division and no shift: some values of a domain's would end the program. Comparisons
// make a tainted<bool>, which no `if` takes.
template <typename T> class [[nodiscard]] tainted {
    static_assert(detail::is_taintable<T>::value, "only plain data comes from a domain: see lockgate::fields");

  public:
    using value_type = T;

    explicit tainted(T value) : value_(std::move(value)) {}
    // (Not left to the compiler: printf() would get the value of what that copies. So clang refuses
    // to pass it, and gcc passes an address.)
    tainted(const tainted &other) : value_(other.value_) {}
    tainted(tainted &&other) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(other.value_)) {}
    tainted &operator=(const tainted &) = default;
    tainted &operator=(tainted &&) = default;

    // Calls `use` with the value, and returns its result. `use` checks the value, and returns what
    // the program goes on with, or throws.
    template <typename Use> auto copy_and_verify(Use &&use) const { return std::forward<Use>(use)(T(value_)); }

    // A declared member of a structure, tainted like the whole.
    template <auto member> auto get() const {
        static_assert(detail::is_member<member, T>(), "only members that lockgate::fields declares come from a domain");
        using Member = std::remove_reference_t<decltype(value_.*member)>;
        return tainted<typename detail::value_of<std::remove_const_t<Member>>::type>(detail::as_value(value_.*member));
    }

    // An element of a std::array or std::vector, whose index is the host's own; an exception if the
    // index is out of range.
    template <typename A = T> tainted<typename A::value_type> at(std::size_t number) const {
        return tainted<typename A::value_type>(value_.at(number));
    }

    // The number as another type of number, as static_cast has it, if that has a value for each.
    template <typename U> tainted<U> cast() const {
        static_assert(std::is_arithmetic_v<U> && (std::is_integral_v<U> ? std::is_integral_v<detail::number<T>> : std::is_arithmetic_v<T>),
                      "a floating-point number may have no value among the integers: verify() it first");
        return tainted<U>(static_cast<U>(value_));
    }

    // A pointer of a domain's is as safe to hand back, or to read through, as any other.
    template <typename U, typename V = T,
              typename = std::enable_if_t<detail::is_pointer_of_domain<V>::value && std::is_convertible_v<V, pointer<U>>>>
    operator pointer<U>() const {
        return value_;
    }

    // The value, if it passes the test; an exception if not. Where the value is a number, the test
    // is a function, or an object with one call operator, whose first parameter is of the same type
    // or another number that has each value: it sees the number that is returned. Others do not
    // compile.
    template <typename Test> T verify(Test &&test) const & {
        check(std::forward<Test>(test));
        return value_;
    }
    template <typename Test> T verify(Test &&test) && {
        check(std::forward<Test>(test));
        return std::move(value_);
    }

    // The value, or `otherwise` if it does not pass the test.
    template <typename Test> T verify_or(Test &&test, T otherwise) const {
        return passes(std::forward<Test>(test)) ? value_ : otherwise;
    }

    // The value as it is, for places where no value of the type does harm: give the reason.
    T trust(const char *why) const & {
        (void)why;
        return value_;
    }
    T trust(const char *why) && {
        (void)why;
        return std::move(value_);
    }

    // Misuse, with a message.
    template <typename U, typename V = T, typename = std::enable_if_t<!detail::is_pointer_of_domain<V>::value>> operator U() const {
        static_assert(sizeof(U) == 0, "a tainted value of a domain: verify() it first, or trust() it and say why");
        return U();
    }

  private:
    template <typename Test> bool passes(Test &&test) const {
        static_assert(detail::tests<T, std::decay_t<Test>>::value,
                      "the test's parameter has not each value of this type, or is not known: it would test another than is returned "
                      "(let a lambda with a parameter of this type make the test)");
        return static_cast<bool>(std::forward<Test>(test)(static_cast<const T &>(value_)));
    }

    template <typename Test> void check(Test &&test) const {
        if (!passes(std::forward<Test>(test)))
            throw Error(LG_E_ARGUMENT, "a value of a domain did not pass its check");
    }

    friend struct detail::Inside;

    T value_;
};

namespace detail {

// Takes out the values that operators of tainted values compute with.
struct Inside {
    template <typename T> static const T &of(const tainted<T> &value) { return value.value_; }
    template <typename T> static const T &of(const T &value) { return value; }
};

template <typename T> struct is_tainted : std::false_type {};
template <typename T> struct is_tainted<tainted<T>> : std::true_type {};
template <typename T> struct inside_of {
    using type = T;
};
template <typename T> struct inside_of<tainted<T>> {
    using type = T;
};
template <typename T> using inside = typename inside_of<T>::type;

// Two numbers, at least one of them tainted. (C++ would refuse to compare other types, or compare
// the bytes of a float with NaN in them.)
template <typename A, typename B>
inline constexpr bool are_numbers = (is_tainted<A>::value || is_tainted<B>::value) && std::is_arithmetic_v<inside<A>> &&
                                    std::is_arithmetic_v<inside<B>>;
template <typename A, typename B>
inline constexpr bool are_integers = are_numbers<A, B> && std::is_integral_v<inside<A>> && std::is_integral_v<inside<B>>;

// In unsigned arithmetic where the numbers are integers, because a domain's numbers must not
// overflow.
template <typename A, typename B, typename Act> auto compute(const A &a, const B &b, Act act) {
    using Both = decltype(act(Inside::of(a), Inside::of(b)));
    if constexpr (std::is_integral_v<Both>) {
        using Wraps = std::make_unsigned_t<Both>;
        return tainted<Both>(static_cast<Both>(
            static_cast<Wraps>(act(static_cast<Wraps>(Inside::of(a)), static_cast<Wraps>(Inside::of(b))))));
    } else {
        return tainted<Both>(act(Inside::of(a), Inside::of(b)));
    }
}

} // namespace detail

#define LOCKGATE_COMPUTES(operation, which)                                                                           \
    template <typename A, typename B, typename = std::enable_if_t<detail::which<A, B>>>                               \
    auto operator operation(const A &a, const B &b) {                                                                 \
        return detail::compute(a, b, [](auto x, auto y) { return x operation y; });                                   \
    }
LOCKGATE_COMPUTES(+, are_numbers)
LOCKGATE_COMPUTES(-, are_numbers)
LOCKGATE_COMPUTES(*, are_numbers)
LOCKGATE_COMPUTES(&, are_integers)
LOCKGATE_COMPUTES(|, are_integers)
LOCKGATE_COMPUTES(^, are_integers)
#undef LOCKGATE_COMPUTES

#define LOCKGATE_COMPARES(operation)                                                                                  \
    template <typename A, typename B, typename = std::enable_if_t<detail::are_numbers<A, B>>>                         \
    tainted<bool> operator operation(const A &a, const B &b) {                                                        \
        return tainted<bool>(detail::Inside::of(a) operation detail::Inside::of(b));                                  \
    }
LOCKGATE_COMPARES(==)
LOCKGATE_COMPARES(!=)
LOCKGATE_COMPARES(<)
LOCKGATE_COMPARES(<=)
LOCKGATE_COMPARES(>)
LOCKGATE_COMPARES(>=)
#undef LOCKGATE_COMPARES

inline tainted<bool> operator!(const tainted<bool> &value) {
    return tainted<bool>(!detail::Inside::of(value));
}

// ---- Prototypes ------------------------------------------------------------------------------------------------------

namespace detail {

// The C type of a value that may cross in a call; other types do not compile.
template <typename T, typename = void> struct Type {
    static_assert(sizeof(T) == 0, "this type cannot be passed to or from a domain: numbers, bool, enumerations of a fixed type, lockgate::pointer<T>");
};

template <> struct Type<void> {
    static std::string name() { return "void"; }
    using Plain = void;
};

template <typename T> struct Type<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8>> {
    static std::string name() {
        return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
    }
    using Plain = T;
    static Plain to(T value) { return value; }
    static T from(Plain value) { return value; }
};

// A domain may make a bool of any byte.
template <> struct Type<bool> {
    static std::string name() { return "uint8_t"; }
    using Plain = std::uint8_t;
    static Plain to(bool value) { return value; }
    static bool from(Plain value) { return value != 0; }
};

template <> struct Type<float> {
    static std::string name() { return "float"; }
    using Plain = float;
    static Plain to(float value) { return value; }
    static float from(Plain value) { return value; }
};

template <> struct Type<double> {
    static std::string name() { return "double"; }
    using Plain = double;
    static Plain to(double value) { return value; }
    static double from(Plain value) { return value; }
};

template <typename T> struct Type<T, std::enable_if_t<is_fixed_enum<T>::value>> {
    static std::string name() { return Type<std::underlying_type_t<T>>::name(); }
    using Plain = typename Type<std::underlying_type_t<T>>::Plain;
    static Plain to(T value) { return static_cast<Plain>(value); }
    static T from(Plain value) { return static_cast<T>(Type<std::underlying_type_t<T>>::from(value)); }
};

template <typename T> struct Type<pointer<T>> {
    static std::string name() { return "void *"; }
    using Plain = std::uint64_t;
    static Plain to(pointer<T> value) { return value.address(); }
    static pointer<T> from(Plain value) { return pointer<T>(value); }
};

template <typename T> struct Type<T *> {
    static_assert(sizeof(T *) == 0, "a pointer of the host's means nothing in a domain: pass a lockgate::pointer<T>, from alloc() or a grant");
};

// An argument that a domain passes.
template <typename T> struct Given {
    static_assert(sizeof(T) == 0, "what a domain passes to a function of the host is tainted: declare lockgate::tainted<T> or lockgate::pointer<T>");
};
template <typename T> struct Given<tainted<T>> : Type<T> {
    static tainted<T> from(typename Type<T>::Plain value) { return tainted<T>(Type<T>::from(value)); }
};
template <typename T> struct Given<pointer<T>> : Type<pointer<T>> {};

template <typename R, template <typename> class In, typename... A> std::string prototype_of(const std::string &name) {
    std::string text = Type<R>::name() + " " + name + "(";
    [[maybe_unused]] const char *comma = "";
    ((text += comma + In<A>::name(), comma = ", "), ...);
    return text + (sizeof...(A) == 0 ? "void)" : ")");
}

// (Templates that are arguments of templates have one parameter for every compiler.)
template <typename T> struct Taken : Type<T> {};

// The exception that left a function that a domain has called, until the call that led there throws
// it. Its number is in the error, beside words of the domain's: no domain can tell it before.
struct Thrown {
    std::exception_ptr exception;
    std::uint64_t number = 0;

    void take() {
        exception = std::current_exception();
        ++number; // (where the kernel refuses)
        (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    }
};

inline std::string numbered(std::uint64_t number) {
    return " (exception " + std::to_string(number) + " of the host)";
}

inline Thrown &thrown() {
    static thread_local Thrown pending;
    return pending;
}

inline void end_call(const std::string &message) {
    thrown().take();
    lg_end_call((message + numbered(thrown().number)).c_str());
}

// Throws the error of the call that has just come back, if lg_failed(); but not if that call
// returned, and a signal handler's call failed.
inline void fail() {
    if (lg_take_call_error() != LG_OK)
        throw_error();
}

// Throws the exception that the last error is about, or that error.
[[noreturn]] inline void throw_error() {
    std::exception_ptr pending = std::exchange(thrown().exception, nullptr);
    // The error may be that of a domain which called the one that ended, or of one that could not
    // start. A call that was made through lockgate.h, or whose caller went on without it
    // (lg_on_failure), may have left its exception behind: the number tells whose this is.
    if (pending && std::strstr(lg_last_message(), numbered(thrown().number).c_str()))
        std::rethrow_exception(pending);
    throw Error();
}

// Runs the function that a domain has called; an exception ends the domain's call.
template <typename R, typename Act> typename Type<R>::Plain guarded(Act act) {
    try {
        if constexpr (std::is_void_v<R>)
            return act();
        else
            return Type<R>::to(act());
#ifdef __GLIBCXX__
    } catch (const abi::__forced_unwind &) { // pthread_exit(), as in C
        throw;
#endif
    } catch (const std::exception &error) {
        end_call(error.what() ? error.what() : "");
    } catch (...) {
        end_call("an exception that is no std::exception left a function of the host");
    }
    return typename Type<R>::Plain();
}

// A function of the host as a domain calls it: arguments arrive tainted.
template <auto function, typename F = decltype(function)> struct Thunk {
    static_assert(sizeof(F) == 0, "a domain calls plain functions here: callback(object) takes objects, and std::bind_front members");
};

template <auto function, typename R, typename... A> struct Thunk<function, R (*)(A...)> {
    static std::string prototype(const std::string &name) { return prototype_of<R, Given, A...>(name); }

    static typename Type<R>::Plain code(typename Given<A>::Plain... arguments) {
        return guarded<R>([&]() -> R { return function(Given<A>::from(arguments)...); });
    }
};

template <auto function, typename R, typename... A>
struct Thunk<function, R (*)(A...) noexcept> : Thunk<function, R (*)(A...)> {};

// Places of the objects that domains call. A thread that has just taken the number of one, as a
// domain calls it, may find that its callback was freed, and the place given to another object: the
// number has a generation, and a place's memory is never given back. No thread waits for another,
// so a fork at any moment is harmless: its child may leave the list of free places alone for good.
class Place {
  public:
    // A place with an object in it, to be closed.
    template <typename F> static Place *with(F object) {
        Place *place = take();
        if (!place)
            place = new Place;
        place->object_ = std::make_unique<F>(std::move(object)).release();
        place->destroy_ = [](void *object) { delete static_cast<F *>(object); };
        place->state_.fetch_and(~closed, std::memory_order_release);
        return place;
    }

    // The user data of a domain's call.
    void *number() const {
        return reinterpret_cast<void *>(reinterpret_cast<std::uint64_t>(this) | generation(state_.load()) << address_bits);
    }

    // Ends it: calls that have begun go on, no other begins. The last one that leaves it destroys
    // the object.
    void close() {
        if ((state_.fetch_or(closed) & count) == 0)
            give_back();
    }

    // A call that has begun.
    class Visit {
      public:
        explicit Visit(void *number)
            : place_(reinterpret_cast<Place *>(reinterpret_cast<std::uint64_t>(number) & ((std::uint64_t(1) << address_bits) - 1))) {
            const std::uint64_t wanted = reinterpret_cast<std::uint64_t>(number) >> address_bits;
            std::uint64_t state = place_->state_.load();
            do {
                if (generation(state) != wanted || (state & closed))
                    throw Error(LG_E_CALLBACK, "the domain called a function whose Callback is gone");
            } while (!place_->state_.compare_exchange_weak(state, state + 1));
        }
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;
        ~Visit() {
            const std::uint64_t left = place_->state_.fetch_sub(1) - 1;
            if ((left & closed) && (left & count) == 0)
                place_->give_back();
        }
        template <typename F> F &object() const { return *static_cast<F *>(place_->object_); }

      private:
        Place *place_;
    };

  private:
    // Addresses of the host have 47 bits. A generation has the others, in the number and in the
    // state.
    static constexpr unsigned address_bits = 47;
    static constexpr std::uint64_t closed = std::uint64_t(1) << 46, count = closed - 1;
    static std::uint64_t generation(std::uint64_t state) { return state >> address_bits; }

    void give_back() {
        destroy_(std::exchange(object_, nullptr));
        state_.fetch_add(std::uint64_t(1) << address_bits);
        if (!busy().test_and_set(std::memory_order_acquire)) {
            next_ = std::exchange(free_places(), this);
            busy().clear(std::memory_order_release);
        } // else this place is not used again: 40 bytes
    }

    static Place *take() {
        if (busy().test_and_set(std::memory_order_acquire))
            return nullptr;
        Place *place = free_places();
        if (place)
            free_places() = place->next_;
        busy().clear(std::memory_order_release);
        return place;
    }

    static std::atomic_flag &busy() {
        static std::atomic_flag flag = ATOMIC_FLAG_INIT;
        return flag;
    }
    static Place *&free_places() {
        static Place *first = nullptr;
        return first;
    }

    std::atomic<std::uint64_t> state_{closed}; // generation, closed, calls that have begun
    void *object_ = nullptr;
    void (*destroy_)(void *) = nullptr;
    Place *next_ = nullptr;
};

// An object of the host's as a domain calls it.
template <typename F, typename Signature> struct ObjectThunk;

template <typename F, typename R, typename... A> struct ObjectThunk<F, R(A...)> {
    static std::string prototype(const std::string &name) { return prototype_of<R, Given, A...>(name); }

    static typename Type<R>::Plain code(typename Given<A>::Plain... arguments) {
        return guarded<R>([&]() -> R {
            Place::Visit visit(lg_user_data());
            return visit.template object<F>()(Given<A>::from(arguments)...);
        });
    }
};

// The signature of a function object that has one.
template <typename F> struct signature_of_function;
template <typename R, typename... A> struct signature_of_function<std::function<R(A...)>> {
    using type = R(A...);
};
template <typename F> using signature_of = typename signature_of_function<decltype(std::function{std::declval<F>()})>::type;

// A type of C as it is in a domain.
template <typename T, typename = void> struct of_domain {
    using type = T;
};
template <typename T> struct of_domain<T *> {
    using type = pointer<typename of_domain<T>::type>;
};
template <typename T> struct of_domain<T *const> {
    using type = const pointer<typename of_domain<T>::type>;
};
// (An enumeration of C without a fixed type: a domain may return any number. Modules' notes have
// each as an int.)
template <typename T> struct of_domain<T, std::enable_if_t<std::is_enum_v<T> && !is_fixed_enum<T>::value>> {
    using type = std::make_signed_t<std::underlying_type_t<T>>;
};
template <typename R, typename... A> struct of_domain<R(A...)> {
    using type = typename of_domain<R>::type(typename of_domain<A>::type...);
};
template <typename R, typename... A> struct of_domain<R(A...) noexcept> : of_domain<R(A...)> {};
template <typename R, typename... A> struct of_domain<R(A..., ...)> {
    static_assert(sizeof(R *) == 0, "a variable number of arguments has no type: bind the function by a type with those that you pass");
};

// The types that a call through a function pointer of the domain's passes and gets, for comparing:
// all pointers count as one type.
template <typename T> struct crossing_of {
    using type = T;
};
template <typename T> struct crossing_of<pointer<T>> {
    using type = pointer<void>;
};
template <typename R, typename... A> struct crossing_of<R(A...)> {
    using type = typename crossing_of<R>::type(typename crossing_of<A>::type...);
};

struct Freed {
    void operator()(lg_module *handle) const { lg_module_free(handle); }
    void operator()(lg_options *handle) const { lg_options_free(handle); }
    void operator()(lg_domain *handle) const { lg_domain_free(handle); }
    void operator()(lg_function *handle) const { lg_function_free(handle); }
    void operator()(lg_callback *handle) const { lg_callback_free(handle); }
    void operator()(lg_region *handle) const { lg_region_free(handle); }
    void operator()(lg_grant *handle) const { lg_grant_free(handle); }
    void operator()(lg_arena *handle) const { lg_arena_close(handle); }
    void operator()(lg_registry *handle) const { lg_registry_free(handle); }
    void operator()(lg_principal *handle) const { lg_principal_free(handle); }
    void operator()(lg_export *handle) const { lg_export_free(handle); }
    void operator()(lg_request *handle) const { lg_request_free(handle); }
    void operator()(lg_workers *handle) const { lg_workers_free(handle); }
    void operator()(lg_async *handle) const { lg_async_free(handle); }
    void operator()(lg_pool *handle) const { lg_pool_free(handle); }
    void operator()(lg_names *handle) const { lg_names_free(handle); }
    void operator()(lg_observed *handle) const { lg_observed_free(handle); }
};

} // namespace detail

// Any handle of lockgate.h, freed at its end: handle<lg_pool> pool(lg_pool_new(…)). Throws if there
// is none. Throws also where a handle is used that was moved from, because NULL has a meaning for
// some functions: no options, all libraries.
template <typename T> class handle {
  public:
    explicit handle(T *made) : owned_(check(made)) {}
    T *get() const {
        if (!owned_)
            throw Error(LG_E_ARGUMENT, "this handle was moved from: it stands for nothing");
        return owned_.get();
    }
    operator T *() const { return get(); }

  private:
    std::unique_ptr<T, detail::Freed> owned_;
};

// ---- Functions -------------------------------------------------------------------------------------------------------

// The type of a function of C as a domain has it: of_domain<decltype(inflate)> is
// int(pointer<z_stream>, int).
template <typename Signature> using of_domain = typename detail::of_domain<Signature>::type;

// Binds, or calls once, a function by the type that the library's header declares for its name.
#define LOCKGATE_BIND(domain, function) ((domain).template bind<::lockgate::of_domain<decltype(function)>>(#function))
#define LOCKGATE_INVOKE(domain, function, ...) (LOCKGATE_BIND(domain, function)(__VA_ARGS__))

template <typename Signature> class Function;

// A bound function. Calling it throws if the call does not return, or if it was moved from.
template <typename R, typename... A> class Function<R(A...)> {
  public:
    explicit Function(lg_function *function)
        : function_(function), code_(reinterpret_cast<Code>(lg_function_pointer(function))) {}
    Function(Function &&other) noexcept : function_(std::move(other.function_)), code_(std::exchange(other.code_, nullptr)) {}
    Function &operator=(Function &&other) noexcept {
        function_ = std::move(other.function_);
        code_ = std::exchange(other.code_, nullptr);
        return *this;
    }

    auto operator()(A... arguments) const {
        if (!code_)
            throw Error(LG_E_ARGUMENT, "this function was moved from: it calls nothing");
        if constexpr (std::is_void_v<R>) {
            code_(detail::Type<A>::to(arguments)...);
            returned();
        } else {
            auto result = code_(detail::Type<A>::to(arguments)...);
            returned();
            return tainted<R>(detail::Type<R>::from(result));
        }
    }

    lg_function *get() const { return function_; }

  private:
    using Code = typename detail::Type<R>::Plain (*)(typename detail::Type<A>::Plain...);

    static void returned() {
        if (lg_failed())
            detail::fail();
    }

    handle<lg_function> function_;
    Code code_;
};

// ---- Modules, options, domains -----------------------------------------------------------------------------------------

class Module {
  public:
    explicit Module(const std::string &path) : module_(lg_module_open(detail::c_text(path))) {}
    Module(const void *bytes, std::size_t size) : module_(lg_module_from_bytes(bytes, size)) {}
    lg_module *get() const { return module_; }

  private:
    handle<lg_module> module_;
};

// Options that chain: Options().memory_limit(1 << 26).time_limit(100). Others:
// lg_options_…(options.get(), …).
class Options {
  public:
    Options() : options_(lg_options_new()) {}
    lg_options *get() const { return options_; }

    Options &name(const std::string &name) & { return done(lg_options_name(options_, detail::c_text(name))); }
    Options name(const std::string &name) && { return std::move(this->name(name)); }
    Options &memory_limit(std::uint64_t bytes) & { return done(lg_options_memory_limit(options_, bytes)); }
    Options memory_limit(std::uint64_t bytes) && { return std::move(memory_limit(bytes)); }
    Options &stack_size(std::uint64_t bytes) & { return done(lg_options_stack_size(options_, bytes)); }
    Options stack_size(std::uint64_t bytes) && { return std::move(stack_size(bytes)); }
    Options &time_limit(std::uint64_t ms) & { return done(lg_options_time_limit(options_, ms)); }
    Options time_limit(std::uint64_t ms) && { return std::move(time_limit(ms)); }
    Options &detached_limit(std::uint64_t ms) & { return done(lg_options_detached_limit(options_, ms)); }
    Options detached_limit(std::uint64_t ms) && { return std::move(detached_limit(ms)); }
    Options &cpu_limit(std::uint64_t ms) & { return done(lg_options_cpu_limit(options_, ms)); }
    Options cpu_limit(std::uint64_t ms) && { return std::move(cpu_limit(ms)); }
    Options &thread_limit(std::uint32_t threads) & { return done(lg_options_thread_limit(options_, threads)); }
    Options thread_limit(std::uint32_t threads) && { return std::move(thread_limit(threads)); }
    Options &max_guest_threads(std::uint32_t threads) & {
        return done(lg_options_max_guest_threads(options_, threads));
    }
    Options max_guest_threads(std::uint32_t threads) && { return std::move(max_guest_threads(threads)); }
    Options &directory(const std::string &guest, const std::string &host, bool writable) & {
        return done(lg_options_directory(options_, detail::c_text(guest), detail::c_text(host), writable));
    }
    Options directory(const std::string &guest, const std::string &host, bool writable) && {
        return std::move(directory(guest, host, writable));
    }
    Options &listen(const std::string &address) & {
        return done(lg_options_listen(options_, detail::c_text(address)));
    }
    Options listen(const std::string &address) && { return std::move(listen(address)); }
    Options &connect(const std::string &address) & {
        return done(lg_options_connect(options_, detail::c_text(address)));
    }
    Options connect(const std::string &address) && { return std::move(connect(address)); }
    Options &standard_streams() & { return done(lg_options_standard_streams(options_)); }
    Options standard_streams() && { return std::move(standard_streams()); }
    Options &policy(lg_policy policy) & { return done(lg_options_policy(options_, policy)); }
    Options policy(lg_policy policy) && { return std::move(this->policy(policy)); }

    // Answers the import `name` with a plain function, gate<&log_line>("log_line"), whose
    // parameters are tainted<T> or pointer<T>: everything is the domain's word. lg_user_data()
    // returns `user` in it.
    template <auto function> Options &gate(const std::string &name, void *user = nullptr) & {
        using Thunk = detail::Thunk<function>;
        return done(lg_options_gate(options_, detail::c_text(Thunk::prototype(name)), reinterpret_cast<lg_code>(&Thunk::code), user));
    }
    template <auto function> Options gate(const std::string &name, void *user = nullptr) && {
        return std::move(gate<function>(name, user));
    }

  private:
    Options &done(lg_status status) {
        check(status);
        return *this;
    }

    handle<lg_options> options_;
};

// A function of the host that the domain can call, as long as this lives.
class Callback {
  public:
    explicit Callback(lg_callback *callback) : callback_(callback) {}
    template <typename T = void> lockgate::pointer<T> pointer() const {
        return lockgate::pointer<T>(reinterpret_cast<std::uint64_t>(lg_callback_pointer(callback_)));
    }

  private:
    handle<lg_callback> callback_;
};

// An object of the host's that the domain can call, as long as this lives: a lambda, a
// std::function. You may destroy it at any time, also within a call of it; the object goes when no
// call is in it any more. It converts to the pointer<…> of a function that its parameters fit.
template <typename Signature> class ObjectCallback {
  public:
    template <typename F>
    ObjectCallback(lg_domain *domain, F object)
        : place_(detail::Place::with(std::move(object))), callback_(made<F>(domain, place_->number())) {}

    template <typename T = void> lockgate::pointer<T> pointer() const { return callback_.pointer<T>(); }
    operator lockgate::pointer<void>() const { return pointer(); }
    template <typename T, typename = std::enable_if_t<std::is_function_v<T>>> operator lockgate::pointer<T>() const {
        static_assert(std::is_same_v<typename detail::crossing_of<T>::type, typename detail::crossing_of<Plain<Signature>>::type>,
                      "the library calls this pointer with other types than the callback has");
        return pointer<T>();
    }

  private:
    template <typename F> struct plain_of;
    template <typename R, typename... A> struct plain_of<R(A...)> {
        using type = R(detail::inside<A>...);
    };
    template <typename F> using Plain = typename plain_of<F>::type;
    struct Close {
        void operator()(detail::Place *place) const { place->close(); }
    };

    template <typename F> static lg_callback *made(lg_domain *domain, void *number) {
        using Thunk = detail::ObjectThunk<F, Signature>;
        return lg_callback_new(domain, Thunk::prototype("callback").c_str(), reinterpret_cast<lg_code>(&Thunk::code), number);
    }

    std::unique_ptr<detail::Place, Close> place_; // goes after the callback
    Callback callback_;
};

// Names for objects of the host's that pass through a domain, as the `void *user` of a callback
// does: a domain gets a number, and the table looks up the number that comes back. Numbers never
// come twice. Threads may use one table together; fork while no other thread does. Names may
// outlive it.
template <typename T> class AppPointers {
    struct Table;

  public:
    // The name of an object, as long as it lives.
    class Name {
      public:
        Name(Name &&other) noexcept : table_(std::move(other.table_)), number_(other.number_) {}
        Name &operator=(Name &&other) noexcept {
            std::swap(table_, other.table_), std::swap(number_, other.number_);
            return *this;
        }
        ~Name() {
            if (table_)
                table_->forget(number_);
        }
        template <typename U = void> lockgate::pointer<U> pointer() const { return lockgate::pointer<U>(number_); }
        operator lockgate::pointer<void>() const { return pointer(); }

      private:
        friend class AppPointers;
        Name(std::shared_ptr<Table> table, std::uint64_t number) : table_(std::move(table)), number_(number) {}
        std::shared_ptr<Table> table_;
        std::uint64_t number_;
    };

    AppPointers() = default;
    AppPointers(const AppPointers &) = delete; // there is one of it
    AppPointers &operator=(const AppPointers &) = delete;

    Name name(T &object) {
        Table &table = *table_;
        std::lock_guard<std::mutex> lock(table.mutex);
        do
            ++table.last;
        while ((table.last & 0xffffffff) == 0); // would be a null pointer
        table.objects[table.last] = &object;
        return Name(table_, table.last);
    }

    // The object that the domain's word names; an exception if it names none.
    template <typename U> T &find(lockgate::pointer<U> word) const {
        const Table &table = *table_;
        std::lock_guard<std::mutex> lock(table.mutex);
        const auto found = table.objects.find(word.address());
        if (found == table.objects.end())
            throw Error(LG_E_ARGUMENT, "the domain handed back a name of no object");
        return *found->second;
    }
    template <typename U> T &find(const tainted<lockgate::pointer<U>> &word) const { return find(lockgate::pointer<U>(word)); }

  private:
    struct Table {
        void forget(std::uint64_t number) {
            std::lock_guard<std::mutex> lock(mutex);
            objects.erase(number);
        }

        mutable std::mutex mutex;
        std::unordered_map<std::uint64_t, T *> objects;
        std::uint64_t last = 0;
    };

    const std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

class Domain;

// A place in a domain's memory: each look copies what lies there at that moment, and a domain may
// change it between two looks. Valid as long as its Domain, which must not be moved meanwhile.
template <typename T> class tainted_volatile {
    static_assert(detail::is_plain<std::remove_const_t<T>>(), "only plain data lies in a domain: see lockgate::fields");

  public:
    using value_type = typename detail::value_of<std::remove_const_t<T>>::type;

    tainted_volatile(const Domain &domain, pointer<T> at) : domain_(&domain), at_(at) {}
    tainted_volatile(const tainted_volatile &other) : domain_(other.domain_), at_(other.at_) {} // as for tainted
    tainted_volatile &operator=(const tainted_volatile &) = delete; // would be one place's value or the other's place

    pointer<T> address() const { return at_; }
    tainted<value_type> copy() const;
    operator tainted<value_type>() const { return copy(); }
    template <typename Use> auto copy_and_verify(Use &&use) const { return copy().copy_and_verify(std::forward<Use>(use)); }
    template <typename Test> value_type verify(Test &&test) const { return copy().verify(std::forward<Test>(test)); }
    value_type trust(const char *why) const { return copy().trust(why); }

    // Writes a value of the host's, or one of the domain's, as it is.
    template <typename V, typename = std::enable_if_t<std::is_convertible_v<const detail::inside<V> &, value_type>>>
    tainted_volatile &operator=(const V &value) {
        write(detail::Inside::of(value));
        return *this;
    }

    // A declared member of the structure that lies there.
    template <auto member> auto get() const {
        static_assert(detail::is_member<member, value_type>(), "only members that lockgate::fields declares come from a domain");
        using Member = std::remove_reference_t<decltype(std::declval<T &>().*member)>;
        const value_type whole{}; // for the member's place
        const auto place = reinterpret_cast<const char *>(&(whole.*member)) - reinterpret_cast<const char *>(&whole);
        return tainted_volatile<Member>(*domain_, at_.template cast<char>().operator+(place).template cast<Member>());
    }

    // An element of an array, whose number is the host's own.
    template <typename A = value_type> auto operator[](std::size_t number) const {
        static_assert(detail::array_of<A>::is, "no array lies there: at() of the Domain takes pointer + number");
        using Array = detail::array_of<A>;
        using Element = std::conditional_t<std::is_const_v<T>, const typename Array::element, typename Array::element>;
        if (number >= Array::size)
            throw Error(LG_E_ARGUMENT, "the array has no element " + std::to_string(number));
        return tainted_volatile<Element>(*domain_, at_.template cast<Element>() + static_cast<std::ptrdiff_t>(number));
    }

    // The place that the pointer there leads to at this moment.
    template <typename P = value_type> auto operator*() const {
        static_assert(detail::is_pointer_of_domain<P>::value, "no pointer lies there");
        return follow(detail::Inside::of(copy()));
    }

    // Misuse, with a message.
    template <typename U, typename = std::enable_if_t<!detail::is_tainted<U>::value>> operator U() const {
        static_assert(sizeof(U) == 0, "what lies in a domain is tainted: verify() it first, or trust() it and say why");
        return U();
    }

  private:
    void write(const value_type &value) const;
    template <typename U> tainted_volatile<U> follow(pointer<U> to) const { return {*domain_, to}; }

    const Domain *domain_;
    pointer<T> at_;
};

class Domain {
  public:
    explicit Domain(const Module &module) : domain_(lg_domain_new(module.get(), nullptr)) {}
    Domain(const Module &module, const Options &options) : domain_(lg_domain_new(module.get(), options.get())) {}
    explicit Domain(lg_domain *domain) : domain_(domain) {}
    lg_domain *get() const { return domain_; }

    // Binds by type: bind<int(pointer<char>)>("parse").
    template <typename Signature> Function<Signature> bind(const std::string &name, lg_policy policy = LG_DEFAULT) const {
        return bind_as(static_cast<Signature *>(nullptr), name, policy);
    }

    // The same for calls of at most so many milliseconds: lg_bind_within(). After LG_E_DETACHED the
    // call goes on: keep what was passed to it, callbacks too, until it has ended.
    template <typename Signature>
    Function<Signature> bind_within(const std::string &name, std::uint64_t ms, lg_expiry on_expiry = LG_STOP,
                                    lg_policy policy = LG_DEFAULT) const {
        return bind_as_within(static_cast<Signature *>(nullptr), name, policy, ms, on_expiry);
    }

    // Makes a plain function callable by the domain: callback<&compare>(). As for Options::gate().
    template <auto function> Callback callback(void *user = nullptr) const {
        using Thunk = detail::Thunk<function>;
        return Callback(lg_callback_new(domain_, Thunk::prototype("callback").c_str(), reinterpret_cast<lg_code>(&Thunk::code), user));
    }

    // Binds for this one call; bind() is for functions that are called again.
    template <typename Signature, typename... A> auto invoke(const std::string &name, A &&...arguments) const {
        return bind<Signature>(name)(std::forward<A>(arguments)...);
    }

    // Makes an object callable by the domain: callback([&](tainted<int> x) { … }). Where its
    // parameters are not those of one function, say them: callback<int(tainted<int>)>(object).
    template <typename F> auto callback(F object) const {
        return ObjectCallback<detail::signature_of<F>>(domain_, std::move(object));
    }
    template <typename Signature, typename F, typename = std::enable_if_t<std::is_function_v<Signature>>>
    ObjectCallback<Signature> callback(F object) const {
        return ObjectCallback<Signature>(domain_, std::move(object));
    }

    // The place there; nothing is read yet.
    template <typename T> tainted_volatile<T> at(pointer<T> place) const { return {*this, place}; }
    template <typename T> tainted_volatile<T> at(const tainted<pointer<T>> &place) const { return at(detail::Inside::of(place)); }

    template <typename T> pointer<T> alloc(std::size_t count = 1) const {
        return made<T>(lg_memory_alloc(domain_, bytes<T>(count)));
    }

    pointer<char> alloc_string(const std::string &text) const {
        return made<char>(lg_memory_alloc_copy(domain_, text.c_str(), text.size() + 1));
    }

    // Memory with a copy of `count` values.
    template <typename T> pointer<T> alloc_copy(const T *from, std::size_t count) const {
        auto at = alloc<T>(count);
        write(at, from, count);
        return at;
    }

    // The domain's pointer to `count` values that the host has at `at`, in a block of an arena that
    // is open for the domain with these rights:
    //     handle<lg_arena> arena(lg_arena_new(1 << 20));
    //     lg_arena_open(arena, domain, LG_READ);
    //     char *text = static_cast<char *>(lg_arena_alloc(arena, size));
    //     parse(domain.arena_pointer(text, size), size);
    template <typename T> pointer<T> arena_pointer(T *at, std::size_t count = 1, lg_rights rights = LG_READ) const {
        return made<T>(lg_arena_pointer(domain_, at, bytes<T>(count), rights));
    }

    template <typename T> void free(const tainted<pointer<T>> &at) const { free(detail::Inside::of(at)); }
    template <typename T> void free(pointer<T> at) const { check(lg_memory_free(domain_, address(at))); }

    // A copy of the memory there.
    template <typename T> tainted<std::remove_const_t<T>> read(pointer<T> at) const {
        std::remove_const_t<T> value{};
        unsigned char bytes[sizeof value];
        check(lg_memory_read(domain_, bytes, address(at), sizeof bytes));
        detail::decode(value, bytes);
        return tainted<std::remove_const_t<T>>(value);
    }

    // A copy of the `count` values that lie there. The count is the host's own, or was verified.
    template <typename T> tainted<std::vector<std::remove_const_t<T>>> read(pointer<T> at, std::size_t count) const {
        using Value = std::remove_const_t<T>;
        std::vector<Value> values;
        if constexpr (detail::is_any_bytes<Value>) {
            values.resize(bytes<T>(count) / sizeof(T));
            check(lg_memory_read(domain_, values.data(), address(at), bytes<T>(count)));
        } else {
            std::vector<unsigned char> copy(bytes<T>(count));
            check(lg_memory_read(domain_, copy.data(), address(at), copy.size()));
            for (std::size_t number = 0; number < count; number++) {
                Value value{};
                detail::decode(value, copy.data() + number * sizeof value);
                values.push_back(value);
            }
        }
        return tainted<std::vector<Value>>(std::move(values));
    }

    template <typename T> tainted<std::remove_const_t<T>> read(const tainted<pointer<T>> &at) const {
        return read(detail::Inside::of(at));
    }
    template <typename T> tainted<std::vector<std::remove_const_t<T>>> read(const tainted<pointer<T>> &at, std::size_t count) const {
        return read(detail::Inside::of(at), count);
    }

    // The pointer, if all of `count` values lie in memory that the domain may use in that way;
    // otherwise an exception. It is for bytes that the program hands on without looking, as to
    // write(2). The domain may change them at any time, and unmap them.
    template <typename T> void *buffer(pointer<T> at, std::size_t count, lg_rights rights = LG_READ) const {
        check(lg_memory_check(domain_, address(at), bytes<T>(count), rights));
        return address(at);
    }

    template <typename T> void write(pointer<T> at, const T &value) const { write(at, &value, 1); }

    template <typename T> void write(pointer<T> at, const T *from, std::size_t count) const {
        static_assert(detail::is_plain<T>(), "only plain data goes to a domain: see lockgate::fields");
        if constexpr (detail::is_any_bytes<T>) {
            check(lg_memory_write(domain_, address(at), from, bytes<T>(count)));
        } else {
            std::vector<unsigned char> copy(bytes<T>(count));
            for (std::size_t number = 0; number < count; number++)
                detail::encode(from[number], copy.data() + number * sizeof(T));
            check(lg_memory_write(domain_, address(at), copy.data(), copy.size()));
        }
    }

    // A string of at most `limit` bytes, without its zero.
    tainted<std::string> read_string(pointer<const char> at, std::size_t limit) const {
        std::vector<char> text(bytes<char>(limit) + 1);
        std::size_t length = 0;
        check(lg_memory_read_string(domain_, text.data(), text.size(), address(at), &length));
        return tainted<std::string>(std::string(text.data(), length));
    }

    void kill() const { check(lg_domain_kill(domain_)); }
    void reset() const { check(lg_domain_reset(domain_)); }

    // Detached calls are among it: `detached`, `detached_settled`.
    lg_usage usage() const {
        lg_usage usage;
        check(lg_domain_usage(domain_, &usage, sizeof usage));
        return usage;
    }

    // Lists what the module tried and was not granted, one line for each: "connect to 10.0.0.1:80:
    // 3".
    std::string denied() const {
        check(lg_domain_name(domain_));
        for (std::string text(256, '\0');;) {
            std::size_t length = lg_domain_denied(domain_, &text[0], text.size());
            bool fits = length < text.size();
            text.resize(fits ? length : length + 1);
            if (fits)
                return text;
        }
    }

  private:
    template <typename R, typename... A>
    Function<R(A...)> bind_as(R (*)(A...), const std::string &name, lg_policy policy) const {
        const std::string prototype = detail::prototype_of<R, detail::Taken, A...>(name);
        return Function<R(A...)>(lg_bind(domain_, detail::c_text(prototype), policy));
    }

    template <typename R, typename... A>
    Function<R(A...)> bind_as_within(R (*)(A...), const std::string &name, lg_policy policy, std::uint64_t ms, lg_expiry on_expiry) const {
        const std::string prototype = detail::prototype_of<R, detail::Taken, A...>(name);
        return Function<R(A...)>(lg_bind_within(domain_, detail::c_text(prototype), policy, ms, on_expiry));
    }

    // The size of so many values. No domain has more than 4 GiB.
    template <typename T> static std::size_t bytes(std::size_t count) {
        if (count > (std::size_t(1) << 32) / sizeof(T))
            throw Error(LG_E_ARGUMENT, std::to_string(count) + " values are more than a domain can have");
        return count * sizeof(T);
    }

    template <typename T> static pointer<T> made(void *at) {
        return pointer<T>(reinterpret_cast<std::uint64_t>(check(at)));
    }

    template <typename T> static void *address(pointer<T> at) { return reinterpret_cast<void *>(at.address()); }

    handle<lg_domain> domain_;
};

template <typename T> tainted<typename tainted_volatile<T>::value_type> tainted_volatile<T>::copy() const {
    return domain_->read(at_.template cast<value_type>());
}

template <typename T> void tainted_volatile<T>::write(const value_type &value) const {
    static_assert(!std::is_const_v<T>, "the library's header says that this is not written");
    domain_->write(at_.template cast<value_type>(), value);
}

} // namespace lockgate

#endif
