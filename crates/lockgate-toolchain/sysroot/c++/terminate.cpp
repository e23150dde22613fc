// The default handler of std::terminate: it says what libstdc++'s says, and lets the error of the call into the domain say it, too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

#include "../libc/call.h"

// The frame of the handler that the thread is in: what that calls may end by std::terminate itself. A call that was ended in there leaves it set,
// and `_lg_thread_mend` forgets it (`lockgate-rewrite`'s src/in_progress.rs, by this name).
extern "C" {
__thread std::uintptr_t _lg_terminating;
}

namespace {

// `lockgate`'s crates/lockgate-syscall/src/calls/functions.rs.
const long FUNCTIONS = 400, LAST_WORDS = 401;

// Whether the function with this frame is in progress in this call into the domain, which may be nested in another one of the domain's.
bool is_in_this_call(std::uintptr_t frame) {
    struct {
        std::uintptr_t site, frame;
    } rows[128];
    const long room = sizeof rows / sizeof *rows;
    for (long seen = 0, got = room; got == room; seen += got) {
        got = lg_ask3(FUNCTIONS, reinterpret_cast<long>(rows), room, seen);
        for (long n = 0; n < got; n++) {
            if (rows[n].frame == frame) return true;
        }
    }
    return false;
}

// Each thread has its own: several may be in the handler at once.
struct Words {
    char text[400] = "";
    std::size_t length = 0;

    void say(const char *more) {
        for (; *more && length + 1 < sizeof text; more++) text[length++] = *more;
        text[length] = 0;
    }

    // Of a long name what stands in angle brackets within others is left out, as in frames (`lockgate-outside`'s src/demangled.rs).
    void say_type(const char *name) {
        if (std::strlen(name) <= 100) return say(name);
        for (int depth = 0; *name; name++) {
            const char letter[] = {*name, 0};
            depth += *name == '<';
            if (depth < 2) say(letter);
            if (depth == 2 && *name == '<') say("<…>");
            depth -= *name == '>';
        }
    }
};

// An exception that is being handled, as libstdc++ has it: the fifth word leads to the one that was before it. The last one is our unwinder's
// (libc/unwind.c): the frame of the handler, once one was found.
struct Handled {
    void *others[4];
    Handled *before;
    void *more[8];
    std::uintptr_t handler;
};

// As the C++ ABI has it.
struct Globals {
    Handled *caught;
    unsigned uncaught;
};

Globals *globals() { return reinterpret_cast<Globals *>(abi::__cxa_get_globals()); }

// The domain may be called again, and this call may be nested in another one of the domain's, whose exceptions are handled still: this call's are
// no longer. (What else it had in progress stays until the thread's outermost call is over: docs/limits.md.)
[[noreturn]] void end(const Words &words, std::uintptr_t outer) {
    Handled *&last = globals()->caught;
    while (last && (!last->handler || is_in_this_call(last->handler))) last = last->before;
    _lg_terminating = outer;
    lg_call3(LAST_WORDS, reinterpret_cast<long>(words.text), static_cast<long>(words.length), 0);
    std::abort();
}

}

namespace __gnu_cxx {

void __verbose_terminate_handler() {
    const std::uintptr_t outer = _lg_terminating;
    if (outer && is_in_this_call(outer)) {
        _lg_terminating = 0;
        std::fputs("terminate called recursively\n", stderr);
        std::abort();
    }
    _lg_terminating = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
    Words words;
    std::type_info *type = abi::__cxa_current_exception_type();
    if (!type) {
        std::fputs("terminate called without an active exception\n", stderr);
        words.say("std::terminate without an exception");
        end(words, outer);
    }
    int status = -1;
    const char *mangled = type->name();
    char *readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    const char *name = status == 0 ? readable : mangled;
    std::fprintf(stderr, "terminate called after throwing an instance of '%s'\n", name);
    words.say("an uncaught exception: ");
    words.say_type(name);
    Handled *const last = globals()->caught;
    const std::uintptr_t handler = last->handler;
    try {
        throw;
    } catch (const std::exception &exception) {
        const char *what = exception.what();
        std::fprintf(stderr, "  what():  %s\n", what);
        words.say(": ");
        words.say(what);
    } catch (...) {
    }
    last->handler = handler; // (It was this function's meanwhile.)
    std::free(readable);
    end(words, outer);
}

}
