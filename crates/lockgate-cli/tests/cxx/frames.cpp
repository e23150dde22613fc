// Ways that meet with stacks of different sizes: from landing pads of calls with arguments on the stack, in functions that compute their frames
// later; and calls that do not return, in computed frames, before code that has none.
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>

#define FAR __attribute__((noinline))

struct Big {
    long words[20];
};
struct Counted {
    const char *name;
    FAR explicit Counted(const char *name, int fails = 0) : name(name) {
        if (fails) throw fails;
    }
    FAR ~Counted() { printf("~%s\n", name); }
};
FAR int takes(Big big, const Counted &) {
    if (big.words[3]) throw 7;
    return 1;
}
FAR int two_pads(long n, int fails) {
    int result;
    {
        Counted outer("outer");
        Counted inner("inner", fails);
        result = takes(Big{{1, 2, 3, n}}, inner);
    }
    char *room = static_cast<char *>(alloca(n + 1));
    memset(room, 1, n + 1);
    return result + room[n];
}

FAR int takes_two(Big first, Big second, const Counted &counted) { return takes(first, counted) + takes(second, counted); }

FAR int pads(long n, int fails) {
    int result;
    {
        Counted outer("outer");
        Counted inner("inner", fails);
        result = takes(Big{{1, 2, 3, n}}, inner);
        Counted last("last");
        result += takes_two(Big{{1, 2, 3, n - 1}}, Big{{}}, last);
    }
    char *room = static_cast<char *>(alloca(n + 1));
    memset(room, 1, n + 1);
    return result + room[n];
}

static int code;
__attribute__((noreturn, noinline)) void die(const char *why) {
    puts(why);
    throw ++code;
}
FAR int uses(char *room, int n) {
    memset(room, n, n);
    return room[0] == 99;
}
FAR int dies(int n) {
    if (__builtin_expect(n <= 0, 0)) return 0;
    char room[n];
    if (__builtin_expect(uses(room, n), 0)) die("99");
    return room[n / 2];
}
__attribute__((noinline, cold)) double dies_cold(int n) {
    if (n <= 0) return 0;
    char room[n];
    if (uses(room, n)) die("cold");
    return room[n / 2];
}
FAR int unwinds(int n) {
    if (n <= 0) return -1;
    Counted counted("unwinds");
    char room[n];
    if (uses(room, n)) throw n;
    return dies(n) + room[n / 2];
}

int main() {
    for (int turn = 0; turn < 4; turn++) {
        for (auto function : {two_pads, pads}) {
            try {
                printf("%d\n", function(turn < 2 ? 40 : 3 - turn, turn & 1));
            } catch (int error) {
                printf("caught %d\n", error);
            }
        }
    }
    for (int n : {5, 0, 99}) {
        for (auto function : {dies, unwinds}) {
            try {
                printf("%d\n", function(n));
            } catch (int error) {
                printf("caught %d\n", error);
            }
        }
        try {
            printf("%g\n", dies_cold(n));
        } catch (int error) {
            printf("caught %d\n", error);
        }
    }
}
