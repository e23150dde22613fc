// Which handler takes an exception, and what is destroyed on the way: by bases, pointers and places, as the suites of compilers ask.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#define FAR __attribute__((noinline))

static void says(const char *text, int number = 0) { std::printf("%s %d\n", text, number); }

struct Top {
    int top = 1;
    virtual ~Top() = default;
};
struct Left : virtual Top { int left = 2; };
struct Right : virtual Top { int right = 3; };
struct Bottom : Left, Right { int bottom = 4; };
struct Twice : Bottom {};
struct Hidden : private Left {};
struct Both1 : Top {};
struct Both2 : Top {};
struct Ambiguous : Both1, Both2 {};

template <class Caught, class Thrown> FAR static void by(const char *what, Thrown thrown) {
    try {
        throw thrown;
    } catch (Caught) {
        says(what, 1);
    } catch (...) {
        says(what, 0);
    }
}

// A base's part lies where it should.
static void bases() {
    Bottom bottom;
    try { throw Twice(); } catch (Right &right) { says("right", right.right + right.top); }
    try { throw Twice(); } catch (Top &top) { says("top", top.top + dynamic_cast<Bottom &>(top).bottom); }
    try { throw &bottom; } catch (const Right *right) { says("a base's pointer", right->right); }
    try { throw &bottom; } catch (const volatile void *place) { says("any pointer", place == &bottom); }
    by<Left &>("a private base", Hidden());
    by<Top &>("two bases", Ambiguous());
    by<Both2 &>("one of two", Ambiguous());
    by<Top *>("a null pointer", nullptr);
    by<int Top::*>("a null member", nullptr);
    by<const int Top::*>("a member", &Top::top);
    by<char *>("a literal", "text");
    by<const char *>("a literal of constants", "text");
    by<long>("a wider number", 1);
    by<int (*)(const char *)>("a function", std::atoi);
    by<void *>("a function is no object", std::atoi);
}

static int alive;
struct Counted {
    int number;
    explicit Counted(int n = 0) : number(n) {
        if (n == 7) throw n;
        alive++;
    }
    Counted(const Counted &other) : number(other.number) { alive++; }
    ~Counted() { alive--; }
    Counted operator+(const Counted &other) const { return Counted(number + other.number); }
};

// What was made before the throw is destroyed, and nothing else: temporaries of a condition, elements of an array, arguments, members.
static int next_number;
struct Numbered : Counted {
    Numbered() : Counted(++next_number) {}
};
static void given(const Counted &, const Counted &, int) { says("never"); }
static bool decides(bool which) { return which; }
static void parts() {
    for (bool which : {false, true}) {
        try {
            const int number = (decides(which) ? Counted(1) + Counted(6) : Counted(2)).number;
            says("a condition", number);
        } catch (int) {
            says("a condition threw", alive);
        }
    }
    try { next_number = 0; Numbered all[10]; } catch (int thrown) { says("an array", thrown * 100 + alive); }
    try { next_number = 3; delete[] new Numbered[10]; } catch (int thrown) { says("an array of the heap", thrown * 100 + alive); }
    try { given(Counted(1), Counted(2), Counted(3).number + Counted(7).number); } catch (int) { says("arguments", alive); }
    try {
        struct Whole { Counted one{1}; Counted two{2}; Counted three{7}; } whole;
        says("never");
    } catch (int) {
        says("members", alive);
    }
    try { auto made = [one = Counted(1), two = Counted(3)](int n) { return Counted(one.number + two.number + n).number; }; made(3); }
    catch (int) { says("captures", alive); }
}

// The memory of an object whose constructor throws goes back by the operator that belongs to the one it came from.
struct Place {};
static int placed, returned;
void *operator new(std::size_t size, Place) { placed++; return std::malloc(size); }
void operator delete(void *at, Place) { returned++; std::free(at); }
static void places() {
    try { new (Place()) Counted(7); } catch (int) { says("a place", placed * 10 + returned); }
    Counted *kept = new (Place()) Counted(5);
    says("a place", placed * 10 + returned);
    kept->~Counted(), std::free(kept);
}

// Several exceptions at a time: in destructors on the way, in handlers, and one within what another's handler throws.
struct Nested {
    int depth;
    ~Nested() {
        says("uncaught", std::uncaught_exceptions());
        if (depth == 0) return;
        try {
            Nested inner{depth - 1};
            throw depth;
        } catch (int number) {
            says("in a destructor", number);
        }
    }
};
static FAR void rethrows() {
    try { throw; } catch (int &number) { number += 10; throw; }
}
static void several() {
    try { Nested nested{3}; throw 'x'; } catch (char) { says("the first", std::uncaught_exceptions()); }
    try {
        try { throw 1; } catch (int) { rethrows(); }
    } catch (int number) { says("changed", number); }
    try {
        try { throw 1; } catch (int outer) {
            try { throw outer + 1; } catch (int) { throw std::runtime_error("instead"); }
        }
    } catch (const std::exception &error) { says(error.what()); }
    std::exception_ptr first;
    try { throw Counted(5); } catch (...) { first = std::current_exception(); }
    says("kept", alive);
    first = nullptr;
    says("let go", alive);
}

struct Moves {
    Moves() = default;
    Moves(Moves &&) noexcept(false) { throw 3; }
};
static FAR Moves moved(Moves &from) { return std::move(from); }
static void others() {
    try { Moves from; moved(from); } catch (int number) { says("a move", number); }
    // Out of loops and switches, with gotos over objects.
    int rounds = 0;
again:
    Counted in_scope(rounds);
    try {
        switch (rounds) {
        case 0: { Counted local(1); rounds++; goto again; }
        case 1: for (;;) { Counted local(2); if (rounds++ == 1) throw rounds; }
        default: break;
        }
    } catch (int number) {
        says("a loop", number * 100 + alive);
    }
    says("alive", alive);
}

int main() {
    bases(), parts(), places(), several(), others();
    says("at the end", alive);
}
