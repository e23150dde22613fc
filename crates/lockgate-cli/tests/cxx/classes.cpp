// Run-time types, virtual bases, the order of static and thread-local objects, guards.
#include <cstdio>
#include <memory>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <vector>

struct Base {
    virtual ~Base() {}
    virtual const char *name() const { return "base"; }
};
struct Left : virtual Base {
    const char *name() const override { return "left"; }
    int left = 1;
};
struct Right : virtual Base {
    int right = 2;
};
struct Both : Left, Right {
    const char *name() const override { return "both"; }
};

struct Noisy {
    std::string name;
    explicit Noisy(const char *given) : name(given) { std::printf("begin %s\n", given); }
    ~Noisy() { std::printf("end %s\n", name.c_str()); }
};

// Made in the order of their priorities, then of the file; ended backwards.
static Noisy third("third"), fourth("fourth");
static Noisy second __attribute__((init_priority(300)))("second");
static Noisy first __attribute__((init_priority(200)))("first");
thread_local Noisy of_thread("of the thread");
static int computed = static_cast<int>(third.name.size());

static Noisy &guarded(const char *name) {
    static Noisy only(name);
    return only;
}

template <typename T> struct Counted {
    inline static int count = 0;
    Counted() { count++; }
    ~Counted() { count--; }
};

int main() {
    Both both;
    Base *base = &both;
    std::printf("%s %s\n", base->name(), typeid(*base).name());
    std::printf("%d %d\n", dynamic_cast<Left *>(base)->left, dynamic_cast<Right *>(base)->right);
    Left left;
    base = &left;
    std::printf("%d %d\n", dynamic_cast<Both *>(base) == nullptr, typeid(*base) == typeid(Left));
    std::printf("%d\n", std::type_index(typeid(int)) == std::type_index(typeid(Counted<int>::count)));
    std::printf("%s %s\n", guarded("guarded").name.c_str(), guarded("again").name.c_str());
    std::printf("%d %s\n", computed, of_thread.name.c_str());
    int (Counted<int>::*none)() = nullptr;
    const char *(Base::*pointer)() const = &Base::name;
    std::printf("%d %s\n", none == nullptr, (both.*pointer)());
    {
        std::vector<std::unique_ptr<Counted<char>>> counted(3);
        for (auto &each : counted) each = std::make_unique<Counted<char>>();
        std::printf("%d\n", Counted<char>::count);
    }
    std::printf("%d\n", Counted<char>::count);
    auto shared = std::make_shared<Noisy>("shared");
    std::weak_ptr<Noisy> weak = shared;
    shared.reset();
    std::printf("%d\n", weak.expired());
    return Counted<char>::count;
}
