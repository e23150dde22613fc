// What all functions of C++ bindings need. Written by `lockgate stubs`, do not edit.
//
// The client in C checks and copies what the library gives; this file checks what C would have believed of the program: sizes of
// buffers, ends of strings, lives of functions. It is the same for every library, and a program may use several.
#ifndef LOCKGATE_STUBS_HPP
#define LOCKGATE_STUBS_HPP

#include "client/lockgate_stubs.h"
#include <lockgate.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Headers of C that know nothing of C++ are included as C; what they include themselves has to be there before.
#include <assert.h>
#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

namespace lockgate::stubs {

// Why a call did not return a value.
enum class error_kind {
    start = LG_STUB_START,       // the domain could not be made
    fault = LG_STUB_FAULT,       // the library crashed, ran out of time or was killed
    pointer = LG_STUB_POINTER,   // it returned a pointer to memory that it does not have
    string = LG_STUB_STRING,     // a string without an end
    length = LG_STUB_LENGTH,     // a length beyond the buffer
    handle = LG_STUB_HANDLE,     // a handle that was never given out, has ended, or is of another type or domain
    callback = LG_STUB_CALLBACK, // a function that was never given, has ended, or is running
    data = LG_STUB_DATA,         // user data that was never given
    null = LG_STUB_NULL,         // a null pointer where there may be none
    size = LG_STUB_SIZE,         // a size that overflows, is negative or larger than the buffer; a zero within a string
    memory = LG_STUB_MEMORY,     // no memory for copies
    jump = LG_STUB_JUMP,         // it jumped where the call may not jump
    value = 100,                 // a number that the enumeration does not have
    os = 101,                    // what errno said: error::number()
};

// A call that did not return a value. The program is as it was before the call.
class error : public std::runtime_error {
  public:
    error(error_kind kind, const char *parameter, const std::string &message, const char *function = "", int number = 0)
        : std::runtime_error(message), kind_(kind), number_(number), function_(function), parameter_(parameter)
    {
    }

    error_kind kind() const noexcept { return kind_; }
    // Of the API, or the type of a callback; empty if the call was not made.
    const char *function() const noexcept { return function_; }
    // Parameter, field or `result`.
    const char *parameter() const noexcept { return parameter_; }
    // errno, of error_kind::os.
    int number() const noexcept { return number_; }

  private:
    error_kind kind_;
    int number_;
    // (The client's literals, or this file's.)
    const char *function_, *parameter_;
};

[[noreturn]] inline void refuse(error_kind kind, const char *parameter, const std::string &why)
{
    throw error(kind, parameter, std::string(parameter) + ": " + why);
}

// A pointer for the client, of the type that it declares there.
class pointer {
  public:
    explicit pointer(const volatile void *at) : at_(const_cast<void *>(at)) {}
    template <class T> operator T *() const
    {
        return reinterpret_cast<T *>(at_);
    }

  private:
    void *at_;
};

// A place in the library's memory, for functions that take one back: nothing is found there.
class place {
  public:
    place(std::nullptr_t = nullptr) {}
    explicit place(const void *at) : at_(const_cast<void *>(at)) {}
    explicit operator bool() const { return at_ != nullptr; }
    friend bool operator==(place a, place b) { return a.at_ == b.at_; }
    friend bool operator!=(place a, place b) { return a.at_ != b.at_; }
    void *lg_raw() const { return at_; }

  private:
    void *at_ = nullptr;
};

// A copy of a string of the library's.
struct text : std::string {
    text(std::string copy, place at) : std::string(std::move(copy)), where(at) {}
    // Where the library has it: what its own `free` takes.
    place where;
    operator place() const { return where; }
};

// A copy of memory of the library's.
template <class T> struct memory : std::vector<T> {
    memory(std::vector<T> copy, place at) : std::vector<T>(std::move(copy)), where(at) {}
    place where;
    operator place() const { return where; }
};

// ---- what goes in ---------------------------------------------------------------------------------------------------------

template <class T> inline constexpr bool is_byte = std::is_same_v<T, char> || std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>;

// Elements of the one are elements of the other: the same type, or bytes; and nothing constant is written.
template <class From, class To>
inline constexpr bool is_seen_as = std::is_convertible_v<From (*)[], To (*)[]> ||
                                   (is_byte<std::remove_cv_t<From>> && std::is_same_v<std::remove_cv_t<To>, unsigned char> &&
                                    (std::is_const_v<To> || !std::is_const_v<From>));

template <class C> using element_of = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

// Where an empty container lies: it is no null pointer to the library, whose answers are then held against a size of zero.
inline constexpr std::max_align_t nothing{};
inline const volatile void *start_of(const volatile void *data) { return data ? data : &nothing; }

// Elements that lie one behind the other, and how many: of a vector, an array, a string, a view, a std::span. A span that is made of nothing is null.
template <class T> class span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr span() noexcept = default;
    template <class U, class = std::enable_if_t<is_seen_as<U, T>>>
    span(U *data, std::size_t size) noexcept : data_(pointer(data)), size_(size)
    {
    }
    template <class C, class = std::enable_if_t<is_seen_as<element_of<std::remove_reference_t<C>>, T>>,
              class = std::enable_if_t<std::is_const_v<T> || std::is_lvalue_reference_v<C> || !std::is_class_v<C> ||
                                       !std::is_const_v<element_of<const std::remove_reference_t<C>>>>>
    span(C &&elements) noexcept : data_(pointer(start_of(std::data(elements)))), size_(std::size(elements))
    {
    }
    // Does its zero belong to it? std::string_view(…) is without, span(…, sizeof …) with it.
    template <std::size_t N> span(const char (&)[N]) = delete;

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t number) const { return data_[number]; }
    // What is behind the first `from` elements; nothing if there are no more.
    span behind(std::size_t from) const { return from < size_ ? span(data_ + from, size_ - from) : span(); }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A string that goes in, for the call: a std::string, a view, a const char *, an optional of these; nullptr and std::nullopt are null.
class text_in {
  public:
    text_in(std::nullptr_t = nullptr) {}
    text_in(std::nullopt_t) {}
    text_in(const char *text) : at_(text) {}
    text_in(const std::string &text) : at_(text.c_str()), size_(text.size()) {}
    text_in(std::string_view text) : copy_(text), size_(text.size()) {}
    template <class T, class = std::enable_if_t<std::is_convertible_v<const T &, std::string_view>>>
    text_in(const std::optional<T> &text)
    {
        if (text)
            copy_ = std::string(std::string_view(*text)), size_ = copy_->size();
    }
    text_in(const text_in &) = delete;
    text_in &operator=(const text_in &) = delete;

    std::size_t lg_length() const { return size_ ? *size_ : at_ ? std::strlen(at_) : 0; }
    const char *lg_pointer(const char *parameter) const
    {
        const char *at = copy_ ? copy_->c_str() : at_;
        if (size_ && std::strlen(at) != *size_)
            refuse(error_kind::size, parameter, "there is a zero within the string");
        return at;
    }

  private:
    const char *at_ = nullptr;
    std::optional<std::string> copy_;
    std::optional<std::size_t> size_;
};

// What sizes are computed in; what does not fit is thrown.
struct overflow {};
__extension__ typedef __int128 wide;

class number {
  public:
    template <class T> explicit number(T value) : value_(static_cast<wide>(value)) {}
    explicit operator bool() const { return value_ != 0; }
    wide value() const { return value_; }

#define LGS_EXACT(sign, function)                                        \
    friend number operator sign(number a, number b)                      \
    {                                                                    \
        wide exact;                                                      \
        if (function(a.value_, b.value_, &exact))                        \
            throw overflow();                                            \
        return number(exact);                                            \
    }
    LGS_EXACT(+, __builtin_add_overflow)
    LGS_EXACT(-, __builtin_sub_overflow)
    LGS_EXACT(*, __builtin_mul_overflow)
#undef LGS_EXACT
    friend number operator/(number a, number b) { return number(a.divisible(b) / b.value_); }
    friend number operator%(number a, number b) { return number(a.divisible(b) % b.value_); }
#define LGS_COMPARED(sign) \
    friend number operator sign(number a, number b) { return number(a.value_ sign b.value_); }
    LGS_COMPARED(<)
    LGS_COMPARED(<=)
    LGS_COMPARED(>)
    LGS_COMPARED(>=)
    LGS_COMPARED(==)
    LGS_COMPARED(!=)
#undef LGS_COMPARED

  private:
    // (The least number by -1 does not fit.)
    wide divisible(number by) const
    {
        wide negative;
        if (by.value_ == 0 || (by.value_ == -1 && __builtin_sub_overflow(static_cast<wide>(0), value_, &negative)))
            throw overflow();
        return value_;
    }
    wide value_;
};

// C's strlen() of a buffer; without a zero in it, there is none.
inline number zero_in(span<const unsigned char> buffer)
{
    const void *zero = buffer.empty() ? nullptr : std::memchr(buffer.data(), 0, buffer.size());
    if (!zero)
        throw overflow();
    return number(static_cast<const unsigned char *>(zero) - buffer.data());
}

// What an expression of the annotations says, if it is a size.
template <class Size> std::size_t counted(Size size, const char *what)
{
    try {
        wide exact = size().value();
        if (exact >= 0 && exact <= static_cast<wide>(std::numeric_limits<std::ptrdiff_t>::max()))
            return static_cast<std::size_t>(exact);
        refuse(error_kind::size, what, "the call needs a size that no buffer has");
    } catch (overflow) {
        refuse(error_kind::size, what, "its size overflows");
    }
}

// So many elements are in a buffer of `there`.
template <class Size> void enough(Size size, std::size_t there, const char *what)
{
    std::size_t needed = counted(size, what);
    if (needed > there)
        refuse(error_kind::size, what, "the call needs " + std::to_string(needed) + " elements, but there are " + std::to_string(there));
}

// A length as the type that the API has for it.
template <class T> T length(std::size_t length, const char *what)
{
    if (static_cast<std::uintmax_t>(std::numeric_limits<T>::max()) < length)
        refuse(error_kind::size, what, "the API has no number for so many elements");
    return static_cast<T>(length);
}

// ---- calls ------------------------------------------------------------------------------------------------------------------

// What the bindings of one library have in common.
template <class Client> struct state {
    // Why a function of the program's has ended the call that it was called in.
    static inline thread_local std::exception_ptr thrown;
    static inline thread_local span<const unsigned char> filling;
};

// What a call was to end is over; some functions say by a number that it lives on.
template <class T> bool says_over(const T &result)
{
    if constexpr (std::is_same_v<T, bool>)
        return result;
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
        return result == T();
    else
        return true;
}

// Makes a call of the client's. An exception of a function that the library called goes on here. What the call ends (`ended`) is told when none of its arguments
// can be refused any more.
template <class Client, class F, class... Ended> auto call(F function, Ended &...ended) -> decltype(function())
{
    // (A thread of the library's own may have left one, where no call of the program's was there to throw it.)
    state<Client>::thrown = nullptr;
    auto check = [] {
        lg_stub_error said;
        lg_stub_kind kind = Client::take_error(&said);
        if (kind == LG_STUB_NONE)
            return;
        if (state<Client>::thrown)
            std::rethrow_exception(std::exchange(state<Client>::thrown, nullptr));
        throw error(static_cast<error_kind>(kind), said.what, Client::report(said), said.function);
    };
    if constexpr (std::is_void_v<decltype(function())>) {
        function();
        (ended.made(), ...);
        check();
        (ended.succeeded(true), ...);
    } else {
        auto result = function();
        (ended.made(), ...);
        check();
        (ended.succeeded(says_over(result)), ...);
        return result;
    }
}

// The same for a function that says by errno what is wrong.
template <class Client, class F, class... Ended> auto call_errno(F function, Ended &...ended) -> decltype(function())
{
    auto result = call<Client>(function, ended...);
    if (int number = Client::take_number())
        throw error(error_kind::os, "result", std::generic_category().message(number), "", number);
    return result;
}

// ---- what comes out ---------------------------------------------------------------------------------------------------------

inline std::optional<text> text_of(const void *at)
{
    if (!at)
        return std::nullopt;
    return text(static_cast<const char *>(at), place(at));
}

// A copy of elements that the client has given; they may lie anywhere.
template <class T> class copy {
  public:
    copy(const void *at, std::size_t count) : count_(at ? count : 0), all_(count_ ? new T[count_] : nullptr)
    {
        if (count_)
            std::memcpy(all_.get(), at, count_ * sizeof(T));
    }
    operator span<T>() const { return span<T>(all_.get(), count_); }
    operator span<const T>() const { return span<const T>(all_.get(), count_); }
    std::vector<T> vector() const { return std::vector<T>(begin(), end()); }
    // What `make` makes of each.
    template <class Made> std::vector<Made> vector(Made make(const T &)) const
    {
        std::vector<Made> all;
        for (const T &each : *this)
            all.push_back(make(each));
        return all;
    }
    // The first one, likewise.
    std::optional<T> made() const { return count_ ? std::optional<T>(all_[0]) : std::nullopt; }
    template <class Made> std::optional<Made> made(Made make(const T &)) const
    {
        return count_ ? std::optional<Made>(make(all_[0])) : std::nullopt;
    }
    const T *begin() const { return all_.get(); }
    const T *end() const { return all_.get() + count_; }

  protected:
    std::size_t count_;
    std::unique_ptr<T[]> all_;
};

// One that goes back, with what the program has left there.
template <class T> class copy_back : public copy<T> {
  public:
    copy_back(void *at, std::size_t count) : copy<T>(at, count), at_(at) {}
    copy_back(const copy_back &) = delete;
    copy_back &operator=(const copy_back &) = delete;
    ~copy_back()
    {
        if (this->count_)
            std::memcpy(at_, this->all_.get(), this->count_ * sizeof(T));
    }

  private:
    void *at_;
};

// All of the memory that the call which has just been made gave as its result.
template <class Client, class T> copy<T> all_of(const void *at)
{
    return copy<T>(at, Client::given() / sizeof(T));
}

template <class Client, class T> std::optional<memory<T>> memory_of(const void *at)
{
    if (!at)
        return std::nullopt;
    return memory<T>(all_of<Client, T>(at).vector(), place(at));
}

// A single structure.
template <class T> copy<T> one_of(const void *at)
{
    return copy<T>(at, 1);
}

// A value of an enumeration: one of `all`.
template <class E, std::size_t N> E known(const E (&all)[N], std::int64_t value, const char *what, const char *enumeration)
{
    for (E each : all)
        if (static_cast<std::int64_t>(each) == value)
            return each;
    refuse(error_kind::value, what, std::to_string(value) + " is no value of " + enumeration);
}

// Strings: so many, or up to a null pointer.
inline std::vector<std::optional<text>> texts_of(const void *at, std::optional<std::size_t> count)
{
    std::vector<std::optional<text>> all;
    auto pointers = static_cast<const void *const *>(at);
    for (std::size_t number = 0; at && (count ? number < *count : pointers[number] != nullptr); number++)
        all.push_back(text_of(pointers[number]));
    return all;
}

inline std::vector<text> without_holes(std::vector<std::optional<text>> all)
{
    std::vector<text> texts;
    for (auto &each : all)
        if (each)
            texts.push_back(std::move(*each));
    return texts;
}

// A pointer into an object that went in, as an offset.
inline std::optional<std::size_t> offset(const void *at, const void *object)
{
    if (!at)
        return std::nullopt;
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(object);
}

// Frees what the client has put on the C library's heap, when it has been copied.
class freed {
  public:
    explicit freed(const void *at) : at_(const_cast<void *>(at)) {}
    freed(const freed &) = delete;
    freed &operator=(const freed &) = delete;
    ~freed() { std::free(at_); }

  private:
    void *at_;
};

// Fields of C's structures, which may be arrays, or packed; strings are the program's while it has them.
template <class T> void put(void *record, std::size_t offset, const T &value, const char *)
{
    std::memcpy(static_cast<char *>(record) + offset, &value, sizeof value);
}
inline void put(void *record, std::size_t offset, const std::optional<std::string> &text, const char *field)
{
    put(record, offset, text ? text_in(*text).lg_pointer(field) : nullptr, field);
}
template <class T> void take(const void *record, std::size_t offset, T &value)
{
    std::memcpy(&value, static_cast<const char *>(record) + offset, sizeof value);
}
inline void take(const void *record, std::size_t offset, std::optional<std::string> &text)
{
    const char *at;
    take(record, offset, at);
    text = at ? std::optional<std::string>(at) : std::nullopt;
}

// The number in a field that is an enumeration, whatever the library has put there: C++ says what a number is that the enumeration cannot have
// only where nothing reads it as one of its values.
template <class E> std::underlying_type_t<E> number_of(const E &field)
{
    std::underlying_type_t<E> number;
    std::memcpy(&number, &field, sizeof number);
    return number;
}

// The client fills what the library lends with this, until it is gone: a handle is shared by threads, and another one's call may take such
// memory away as soon as the call has returned.
template <class Client> class lending {
  public:
    template <class Size> lending(span<const unsigned char> contents, Size room) : contents_(contents)
    {
        if (contents.size() > counted(room, "contents"))
            refuse(error_kind::size, "contents", "there is less room");
        fill(contents);
    }
    lending(const lending &) = delete;
    lending &operator=(const lending &) = delete;
    ~lending() { fill(outer_); }
    // As much was lent as there is, whatever was asked for.
    void check(const void *lent) const
    {
        if (lent && contents_.size() > Client::given())
            refuse(error_kind::length, "contents", "the library lent " + std::to_string(Client::given()) + " bytes for " + std::to_string(contents_.size()));
    }

  private:
    static void fill(span<const unsigned char> contents)
    {
        state<Client>::filling = contents;
        Client::fill(contents.data(), contents.size());
    }
    span<const unsigned char> contents_, outer_ = state<Client>::filling;
};

// ---- what lives longer than a call ------------------------------------------------------------------------------------------

// That of a handle: as long as it lasts, the library may hold what it was given with it. It is over when the call that ends the handle has succeeded.
using life = std::shared_ptr<std::atomic<bool>>;
inline life begun()
{
    return std::make_shared<std::atomic<bool>>(false);
}

// Something of the library's: a function of its own ends it when it is destroyed, unless it is the library's to end, or has no owner (and no life here). It moves, and
// has one owner.
template <class Client, class Own, bool ENDS> class handle {
  public:
    handle(const void *raw, life own) : raw_(const_cast<void *>(raw)), life_(std::move(own)) {}
    handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)), life_(std::move(other.life_)) {}
    handle &operator=(handle &&other) noexcept
    {
        handle moved(std::move(other));
        std::swap(raw_, moved.raw_);
        std::swap(life_, moved.life_);
        return *this;
    }
    ~handle()
    {
        if (!raw_ || !life_ || !ENDS)
            return;
        lg_end_with_domain();
        struct {
            life own;
            void made() {}
            void succeeded(bool over) { own->store(over); }
        } ended{life_};
        try {
            call<Client>([this] { return Own::lg_end(raw_); }, ended);
        } catch (...) {
            // It is gone in any case, but the library may have it still.
        }
    }
    // False for one that was moved from.
    explicit operator bool() const { return raw_ != nullptr; }

    void *lg_raw(const char *parameter) const
    {
        if (!raw_)
            refuse(error_kind::handle, parameter, "it has been moved from");
        return raw_;
    }
    void **lg_place() { return &raw_; }
    // Its domain has ended, and will release it no more.
    void lg_end_with_domain() const
    {
        if (raw_ && life_ && Client::is_left(raw_))
            life_->store(true);
    }
    const life &lg_life() const { return life_; }
    // The call that it was given to has returned, and it is over, or not.
    void lg_ended(bool over)
    {
        if (over && life_)
            life_->store(true);
        raw_ = nullptr;
        life_ = nullptr;
    }

  private:
    void *raw_;
    life life_;
};

// A handle or a function that goes in, or none: nullptr, std::nullopt, an empty optional.
template <class T> class optional_ref {
  public:
    optional_ref(std::nullptr_t) {}
    optional_ref(std::nullopt_t) {}
    optional_ref(const T &object) : object_(&object) {}
    optional_ref(const std::optional<T> &object) : object_(object ? &*object : nullptr) {}
    const T *get() const { return object_; }
    void *lg_raw(const char *parameter) const { return object_ ? object_->lg_raw(parameter) : nullptr; }

  private:
    const T *object_ = nullptr;
};

// The library may have the function as long as this life lasts.
template <class T> void keep(const optional_ref<T> &function, const life &own)
{
    if (function.get())
        function.get()->lg_passed(own);
}

template <class Handle> std::optional<Handle> handle_of(Handle made)
{
    if (!made)
        return std::nullopt;
    return std::optional<Handle>(std::move(made));
}
// A handle that a call has made: functions that it took, and that are known by nothing else, are that one's, and what stood for it until then ends.
template <class Handle, class... Functions> std::optional<Handle> handle_of(Handle made, const life &until, const Functions &...functions)
{
    if (!made)
        return std::nullopt;
    (keep(functions, made.lg_life()), ...);
    until->store(true);
    return std::optional<Handle>(std::move(made));
}

// A handle, or none, that a call ends, or puts another in the place of. What a refused call was to end, it ends itself.
template <class Handle> class ending {
  public:
    ending(Handle &handle, const char *parameter) : raw(handle.lg_raw(parameter)), handle_(&handle) { handle.lg_end_with_domain(); }
    ending(std::optional<Handle> &handle, const char *parameter)
        : raw(handle ? handle->lg_raw(parameter) : nullptr), handle_(handle ? &*handle : nullptr), replaced_(true)
    {
        if (handle)
            handle->lg_end_with_domain();
    }
    ending(const ending &) = delete;
    ending &operator=(const ending &) = delete;
    ~ending()
    {
        if (made_ && handle_)
            handle_->lg_ended(over_);
    }
    void made() { made_ = true; }
    void succeeded(bool over) { over_ = over && !(replaced_ && raw == before_); }
    // What the library has put in its place.
    operator const void *() const { return raw; }
    // The life of that: the one that was there, or another one, which is the program's to end.
    life left() const { return handle_ && raw == before_ ? handle_->lg_life() : begun(); }

    void *raw;

  private:
    void *before_ = raw;
    Handle *handle_;
    bool replaced_ = false, made_ = false, over_ = false;
};

template <class Handle> std::vector<Handle> handles_of(const void *at, std::size_t count)
{
    std::vector<Handle> all;
    for (const void *raw : copy<const void *>(at, count))
        all.emplace_back(raw, nullptr);
    return all;
}

// What a function is passed with: a handle, whose life may be the library's, or none.
struct with {
    bool is;
    life own;
};
template <class Handle> with with_of(const Handle &own)
{
    return {true, own.lg_life()};
}
template <class Handle> with with_of(const std::optional<Handle> &own)
{
    return own ? with_of(*own) : with{false, nullptr};
}
template <class Handle> with with_of(const optional_ref<Handle> &own)
{
    return own.get() ? with_of(*own.get()) : with{false, nullptr};
}

// A structure of C's that the library remembers: it stays where it is, and what was begun with it ends when it is destroyed. A call that it takes part in keeps it
// until that is over, wherever the program moves this meanwhile.
template <class Client, class T> class kept {
  public:
    // Zeros.
    kept() : own_(new record(), let_go) {}
    kept(kept &&other) noexcept = default;
    kept &operator=(kept &&other) noexcept = default;

  protected:
    T &lg_record() const
    {
        return own_->raw;
    }

  private:
    template <class Own> friend class use;
    struct record {
        T raw{};
        bool used = false;
        std::atomic<bool> busy{false};
        void (*end)(void *) = nullptr;
    };
    static void let_go(record *own)
    {
        try {
            if (own->end)
                call<Client>([own] { own->end(&own->raw); });
        } catch (...) {
            // It is gone in any case.
        }
        // The library remembers the address: it is not used again.
        if (!own->used || own->end)
            delete own;
    }
    std::shared_ptr<record> own_;
};

// One that takes part in a call; with `reads`, with buffers that are the program's.
template <class Own> class use {
  public:
    use(Own &own, const char *parameter, bool reads) : own_(own.own_), reads_(reads)
    {
        if (!own_)
            refuse(error_kind::handle, parameter, "it has been moved from");
        if (reads && own_->busy.exchange(true))
            refuse(error_kind::handle, parameter, "a call has its buffers already");
        own_->used = true;
    }
    use(const use &) = delete;
    use &operator=(const use &) = delete;
    ~use()
    {
        // (One whose buffers the call has not brought may have another's now, as its copy.)
        if (reads_ || !own_->busy)
            Own::lg_without_buffers(own_->raw);
        if (reads_)
            own_->busy = false;
        if (releases_)
            own_->end = nullptr, own_->used = false;
    }
    auto *operator->() const { return &own_->raw; }
    auto *get() const { return &own_->raw; }
    // The call that ends what was begun is made.
    void made() { releases_ = true; }
    void succeeded(bool) {}
    // What it takes part in has begun something, which this function ends.
    void begins(void (*end)(void *))
    {
        own_->end = own_->end ? own_->end : end;
    }

  private:
    decltype(Own::own_) own_;
    bool reads_, releases_ = false;
};

// ---- functions that the library calls ---------------------------------------------------------------------------------------

// A function of the program's runs on one thread at a time; others wait. It is the library that chooses what is called within what: two threads that run one each
// and want the other's would wait for ever, whatever limit of time the domain has. So the last one of such a ring is refused.
class turn {
  public:
    // What it is the turn for.
    class place {
        friend turn;
        std::thread::id owner_{};
    };

    explicit turn(place &wanted) : place_(wanted)
    {
        const auto here = std::this_thread::get_id();
        std::unique_lock<std::mutex> lock(all().lock);
        while (place_.owner_ != std::thread::id()) {
            if (place_.owner_ == here)
                refuse(error_kind::callback, "closure", "the library calls it while it is running");
            if (waits_for(place_.owner_, here))
                refuse(error_kind::callback, "closure", "the library calls it while it is running on a thread that waits for this one");
            // (The thread may be cancelled while it waits.)
            struct waiting {
                std::thread::id here;
                waiting(std::thread::id thread, const place &wanted) : here(thread) { all().waits[here] = &wanted; }
                ~waiting() { all().waits.erase(here); }
            } waiting(here, place_);
            all().left.wait(lock);
        }
        place_.owner_ = here;
    }
    turn(const turn &) = delete;
    turn &operator=(const turn &) = delete;
    ~turn()
    {
        std::lock_guard<std::mutex> lock(all().lock);
        place_.owner_ = std::thread::id();
        if (!all().waits.empty())
            all().left.notify_all();
    }

  private:
    struct turns {
        std::mutex lock;
        std::condition_variable left;
        std::map<std::thread::id, const place *> waits;
    };
    // (Never destroyed, as the functions themselves.)
    static turns &all()
    {
        static turns *all = new turns();
        return *all;
    }
    // Whether `one` waits for `other`, or for a thread that does.
    static bool waits_for(std::thread::id one, std::thread::id other)
    {
        for (auto at = all().waits.find(one); at != all().waits.end(); at = all().waits.find(at->second->owner_))
            if (at->second->owner_ == other)
                return true;
        return false;
    }

    place &place_;
};

template <class Client, class Own, class Signature, class Raw> class closure;

// A function of the program's. The library can call it until this is destroyed; a later call ends the call of the library's that it came
// from. An exception ends that call, too, and goes on in the program's. It is not called again while it is running; other threads
// wait, unless both would for ever.
// At most 256 of a type can exist at a time: each needs a function of C's, by which the library knows it.
template <class Client, class Own, class R, class... A, class Result, class... P> class closure<Client, Own, R(A...), Result(P...)> {
  public:
    using lg_function = std::function<R(A...)>;

    explicit closure(lg_function code)
    {
        static std::atomic<std::uintptr_t> serials{0};
        auto own = std::make_shared<held>();
        own->code = std::move(code);
        own->serial = serial_ = ++serials;
        std::lock_guard<std::mutex> lock(slots().lock);
        auto &all = slots().all;
        while (number_ < all.size() && !all[number_].is_free())
            number_++;
        if (number_ == COUNT)
            refuse(error_kind::memory, "closure", "there are 256 of this type already, or the library may hold them still");
        if (number_ == all.size())
            all.emplace_back();
        all[number_] = position();
        all[number_].own = std::move(own);
    }
    closure(closure &&other) noexcept : number_(other.number_), serial_(std::exchange(other.serial_, 0)) {}
    closure &operator=(closure &&other) noexcept
    {
        closure moved(std::move(other));
        std::swap(number_, moved.number_);
        std::swap(serial_, moved.serial_);
        return *this;
    }
    ~closure()
    {
        if (!serial_)
            return;
        // What the function owns may call back in here.
        std::shared_ptr<held> own;
        std::lock_guard<std::mutex> lock(slots().lock);
        own.swap(slots().all[number_].own);
    }

    // Its function of C's, for a call that passes it.
    void *lg_code(const char *parameter) const
    {
        lg_data(parameter);
        return reinterpret_cast<void *>(code_of(number_, std::make_index_sequence<COUNT>()));
    }
    // A call passes it, or has, with nothing else by which it is known, and the library may have it as long as this life lasts.
    void lg_passed(const life &own) const
    {
        if (!serial_)
            return;
        std::lock_guard<std::mutex> lock(slots().lock);
        slots().all[number_].passed(own);
        slots().all[number_].own->bare = true;
    }
    // The user data that it is passed with.
    std::uintptr_t lg_data(const char *parameter) const
    {
        if (!serial_)
            refuse(error_kind::callback, parameter, "it has been moved from");
        return serial_;
    }

  protected:
    // The library calls the function of this number, with this user data: `run` does.
    template <class Run> static Result lg_enter(std::size_t number, const void *data, Run run)
    {
        try {
            std::shared_ptr<held> own = find(number, reinterpret_cast<std::uintptr_t>(data));
            if (!own)
                refuse(error_kind::callback, "closure", "what the library calls has been dropped");
            turn here(own->place);
            return run(own->code);
#ifdef __GLIBCXX__
        } catch (const abi::__forced_unwind &) { // the thread ends here, as in C
            throw;
#endif
        } catch (...) {
            state<Client>::thrown = std::current_exception();
            lg_end_call("a function of the program's has ended it");
        }
        return Result();
    }

  private:
    static constexpr std::size_t COUNT = 256;

    struct held {
        lg_function code;
        std::uintptr_t serial;
        // It was passed without this, too.
        std::atomic<bool> bare{false};
        turn::place place;
    };
    struct position {
        std::shared_ptr<held> own;
        // Those of handles that it was passed with where it is told from others by nothing else.
        std::set<life> lives;
        std::size_t room = 16;
        // It was passed so without a handle that ends.
        bool for_good = false;

        void passed(const life &with)
        {
            if (!with) {
                for_good = true;
                return;
            }
            if (lives.size() >= room) {
                for (auto each = lives.begin(); each != lives.end();)
                    each = **each ? lives.erase(each) : std::next(each);
                room = 2 * lives.size() + 16;
            }
            lives.insert(with);
        }
        // No function has it, and the library can take none for another.
        bool is_free() const
        {
            return !own && !for_good && std::all_of(lives.begin(), lives.end(), [](const life &each) { return each->load(); });
        }
    };
    struct positions {
        std::mutex lock;
        std::vector<position> all;
    };
    // (Never destroyed: the library may call, and other objects end, until the process does.)
    static positions &slots()
    {
        static positions *all = new positions();
        return *all;
    }
    static std::shared_ptr<held> find(std::size_t number, std::uintptr_t data)
    {
        std::lock_guard<std::mutex> lock(slots().lock);
        if (number >= slots().all.size() || !slots().all[number].own)
            return nullptr;
        // (Without data it is known by its function alone.)
        std::shared_ptr<held> own = slots().all[number].own;
        return (data ? data == own->serial : own->bare.load()) ? own : nullptr;
    }
    template <std::size_t N> static Result code(P... parameters)
    {
        return Own::lg_run(N, parameters...);
    }
    template <std::size_t... N> static auto code_of(std::size_t number, std::index_sequence<N...>) -> Result (*)(P...)
    {
        static constexpr Result (*all[])(P...) = {code<N>...};
        return all[number];
    }

    std::size_t number_ = 0;
    std::uintptr_t serial_ = 0;
};

template <class T> void *code_of(const optional_ref<T> &closure, const char *parameter)
{
    return closure.get() ? closure.get()->lg_code(parameter) : nullptr;
}

// The same for a call that passes nothing else by which it is known, with these handles. Without one the library may have it as long as `made` lasts, or for good.
template <class T, class... Handles> void *bare_code_of(const optional_ref<T> &closure, const char *parameter, const life &made, const Handles &...handles)
{
    void *code = code_of(closure, parameter);
    bool is = false;
    for (const with &each : std::initializer_list<with>{handles...})
        if (each.is) {
            keep(closure, each.own);
            is = true;
        }
    if (!is)
        keep(closure, made);
    return code;
}

template <class T> void *data_of(const optional_ref<T> &closure, const char *parameter)
{
    return closure.get() ? reinterpret_cast<void *>(closure.get()->lg_data(parameter)) : nullptr;
}

} // namespace lockgate::stubs
#endif
