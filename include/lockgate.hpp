// lockgate.hpp - Lockgate for C++17: handles that free themselves, errors as exceptions, and values of domains that cannot be used before
// they were checked. Header-only, over lockgate.h, which is the manual.
//
//     lockgate::Domain domain(lockgate::Module("cube.lg"));
//     auto cube_root = domain.bind<double(double)>("cube_root");
//     double y = cube_root(27.0).verify([](double y) { return y >= 0; });
//
// What comes from a domain is tainted: a tainted<T> converts to nothing, compares with nothing and indexes nothing. verify() takes it out
// if a test says so, or throws; trust() takes it out where any value does. A pointer<T> of a domain cannot be followed;
// Domain::read() copies what it leads to.
//
// Threads: as lockgate.h says; an object of this header is no more thread-safe than a std::unique_ptr. Cost: that of lockgate.h, and a
// look at one word after each call. Objects may die in any order.
#ifndef LOCKGATE_HPP
#define LOCKGATE_HPP

#include <lockgate.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockgate {

// A copy of lg_fault, with strings of its own.
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

    // What happened in the domain, or null if that was not it.
    const Fault *fault() const noexcept { return fault_.get(); }

  private:
    lg_status status_;
    std::shared_ptr<const Fault> fault_;
};

inline void check(lg_status status) {
    if (status != LG_OK)
        throw Error();
}

template <typename T> T *check(T *made) {
    if (!made)
        throw Error();
    return made;
}

// ---- Values of domains ---------------------------------------------------------------------------------------------

// A value that a domain made: not to be used before it was checked.
template <typename T> class [[nodiscard]] tainted {
    static_assert(std::is_trivially_copyable_v<T>, "only plain data comes from a domain");

  public:
    explicit tainted(T value) : value_(value) {}

    // The value, if it passes the test; an exception if not.
    template <typename Test> T verify(Test &&test) const {
        if (!std::forward<Test>(test)(static_cast<const T &>(value_)))
            throw Error(LG_E_ARGUMENT, "a value of a domain did not pass its check");
        return value_;
    }

    // The value, or `otherwise` if it does not pass the test.
    template <typename Test> T verify_or(Test &&test, T otherwise) const {
        return std::forward<Test>(test)(static_cast<const T &>(value_)) ? value_ : otherwise;
    }

    // The value as it is, where any value of the type does no harm: say why.
    T trust(const char *why) const {
        (void)why;
        return value_;
    }

    // Misuse, with a message.
    template <typename U> operator U() const {
        static_assert(sizeof(U) == 0, "a tainted value of a domain: verify() it first, or trust() it and say why");
        return U();
    }

  private:
    T value_;
};

// A pointer of a domain. Its bits may be anything; functions of the domain take it, Domain::read and write go through it.
template <typename T> class pointer {
  public:
    pointer() = default;
    pointer(std::nullptr_t) {}
    explicit pointer(std::uint64_t address) : address_(address) {}

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

// ---- Prototypes ------------------------------------------------------------------------------------------------------

namespace detail {

// The type in C, of what may cross; anything else does not compile.
template <typename T, typename = void> struct Type {
    static_assert(sizeof(T) == 0, "this type cannot be passed to or from a domain: numbers, enumerations, lockgate::pointer<T>");
};

template <> struct Type<void> {
    static std::string name() { return "void"; }
    using Plain = void;
};

template <typename T> struct Type<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
    static std::string name() {
        return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
    }
    using Plain = T;
};

template <> struct Type<float> {
    static std::string name() { return "float"; }
    using Plain = float;
};

template <> struct Type<double> {
    static std::string name() { return "double"; }
    using Plain = double;
};

template <typename T> struct Type<pointer<T>> {
    static std::string name() { return "void *"; }
    using Plain = std::uint64_t;
};

template <typename T> struct Type<T *> {
    static_assert(sizeof(T *) == 0, "a pointer of the host's means nothing in a domain: pass a lockgate::pointer<T>, from alloc() or a grant");
};

template <typename T> struct Type<T, std::enable_if_t<std::is_same_v<T, bool>>> {
    static_assert(sizeof(T) == 0, "a domain may make a bool of anything: use int and verify() it");
};

template <typename R, typename... A> std::string prototype(const std::string &name) {
    std::string text = Type<R>::name() + " " + name + "(";
    [[maybe_unused]] const char *comma = "";
    ((text += comma + Type<A>::name(), comma = ", "), ...);
    return text + (sizeof...(A) == 0 ? "void)" : ")");
}

template <typename T> auto plain(T value) {
    return value;
}
template <typename T> std::uint64_t plain(pointer<T> value) {
    return value.address();
}

struct Freed {
    void operator()(lg_module *handle) const { lg_module_free(handle); }
    void operator()(lg_options *handle) const { lg_options_free(handle); }
    void operator()(lg_domain *handle) const { lg_domain_free(handle); }
    void operator()(lg_function *handle) const { lg_function_free(handle); }
    void operator()(lg_callback *handle) const { lg_callback_free(handle); }
    void operator()(lg_region *handle) const { lg_region_free(handle); }
    void operator()(lg_grant *handle) const { lg_grant_free(handle); }
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

// Any handle of lockgate.h, freed at its end: handle<lg_pool> pool(lg_pool_new(…)). Throws if there is none.
template <typename T> class handle {
  public:
    explicit handle(T *made) : owned_(check(made)) {}
    T *get() const noexcept { return owned_.get(); }
    operator T *() const noexcept { return get(); }

  private:
    std::unique_ptr<T, detail::Freed> owned_;
};

// ---- Functions -------------------------------------------------------------------------------------------------------

template <typename Signature> class Function;

// A bound function. Calling it throws if the call does not return.
template <typename R, typename... A> class Function<R(A...)> {
  public:
    explicit Function(lg_function *function)
        : function_(function), code_(reinterpret_cast<Code>(lg_function_pointer(function))) {}

    auto operator()(A... arguments) const {
        if constexpr (std::is_void_v<R>) {
            code_(detail::plain(arguments)...);
            returned();
        } else {
            auto result = code_(detail::plain(arguments)...);
            returned();
            return tainted<R>(R(result));
        }
    }

    lg_function *get() const { return function_; }

  private:
    using Code = typename detail::Type<R>::Plain (*)(typename detail::Type<A>::Plain...);

    static void returned() {
        if (lg_failed())
            check(lg_take_call_error());
    }

    handle<lg_function> function_;
    Code code_;
};

// ---- Modules, options, domains -----------------------------------------------------------------------------------------

class Module {
  public:
    explicit Module(const std::string &path) : module_(lg_module_open(path.c_str())) {}
    Module(const void *bytes, std::size_t size) : module_(lg_module_from_bytes(bytes, size)) {}
    lg_module *get() const { return module_; }

  private:
    handle<lg_module> module_;
};

// Options that chain: Options().memory_limit(1 << 26).time_limit(100). Others: lg_options_…(options.get(), …).
class Options {
  public:
    Options() : options_(lg_options_new()) {}
    lg_options *get() const { return options_; }

    Options &name(const std::string &name) { return done(lg_options_name(options_, name.c_str())); }
    Options &memory_limit(std::uint64_t bytes) { return done(lg_options_memory_limit(options_, bytes)); }
    Options &stack_size(std::uint64_t bytes) { return done(lg_options_stack_size(options_, bytes)); }
    Options &time_limit(std::uint64_t ms) { return done(lg_options_time_limit(options_, ms)); }
    Options &cpu_limit(std::uint64_t ms) { return done(lg_options_cpu_limit(options_, ms)); }
    Options &thread_limit(std::uint32_t threads) { return done(lg_options_thread_limit(options_, threads)); }
    Options &policy(lg_policy policy) { return done(lg_options_policy(options_, policy)); }

    // Answers the import `name` with a function whose parameters and result are what detail::Type knows: pointers of the domain are
    // lockgate::pointer<T>, and everything is the domain's word.
    template <typename R, typename... A> Options &gate(const std::string &name, R (*function)(A...), void *user = nullptr) {
        const std::string prototype = detail::prototype<R, A...>(name);
        return done(lg_options_gate(options_, prototype.c_str(), reinterpret_cast<lg_code>(function), user));
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

    template <typename R, typename... A>
    Callback callback(const std::string &name, R (*function)(A...), void *user = nullptr) const {
        const std::string prototype = detail::prototype<R, A...>(name);
        return Callback(lg_callback_new(domain_, prototype.c_str(), reinterpret_cast<lg_code>(function), user));
    }

    template <typename T> pointer<T> alloc(std::size_t count = 1) const {
        return made<T>(lg_memory_alloc(domain_, sizeof(T) * count));
    }

    pointer<char> alloc_string(const std::string &text) const {
        return made<char>(lg_memory_alloc_copy(domain_, text.c_str(), text.size() + 1));
    }

    template <typename T> void free(pointer<T> at) const { check(lg_memory_free(domain_, address(at))); }

    template <typename T> tainted<T> read(pointer<T> at) const {
        T value;
        check(lg_memory_read(domain_, &value, address(at), sizeof value));
        return tainted<T>(value);
    }

    template <typename T> void read(pointer<T> at, T *to, std::size_t count) const {
        check(lg_memory_read(domain_, to, address(at), sizeof(T) * count));
    }

    template <typename T> void write(pointer<T> at, const T &value) const {
        static_assert(std::is_trivially_copyable_v<T>, "only plain data goes to a domain");
        check(lg_memory_write(domain_, address(at), &value, sizeof value));
    }

    template <typename T> void write(pointer<T> at, const T *from, std::size_t count) const {
        check(lg_memory_write(domain_, address(at), from, sizeof(T) * count));
    }

    // A string of at most `limit` bytes: the domain's words.
    std::string read_string(pointer<char> at, std::size_t limit) const {
        std::vector<char> text(limit + 1);
        std::size_t length = 0;
        check(lg_memory_read_string(domain_, text.data(), text.size(), address(at), &length));
        return std::string(text.data(), length);
    }

    void kill() const { check(lg_domain_kill(domain_)); }
    void reset() const { check(lg_domain_reset(domain_)); }

    lg_usage usage() const {
        lg_usage usage;
        check(lg_domain_usage(domain_, &usage, sizeof usage));
        return usage;
    }

  private:
    template <typename R, typename... A>
    Function<R(A...)> bind_as(R (*)(A...), const std::string &name, lg_policy policy) const {
        const std::string prototype = detail::prototype<R, A...>(name);
        return Function<R(A...)>(lg_bind(domain_, prototype.c_str(), policy));
    }

    template <typename T> static pointer<T> made(void *at) {
        return pointer<T>(reinterpret_cast<std::uint64_t>(check(at)));
    }

    template <typename T> static void *address(pointer<T> at) { return reinterpret_cast<void *>(at.address()); }

    handle<lg_domain> domain_;
};

} // namespace lockgate

#endif
