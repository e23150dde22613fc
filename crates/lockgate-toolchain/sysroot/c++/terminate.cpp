// The default handler of std::terminate: it says what libstdc++'s says, and lets the error of the call into the domain say it, too.
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

#include "../libc/call.h"

// Whether the thread is in the handler: what that calls may end by std::terminate itself. A call that was ended in there leaves it set, and
// `_lg_thread_mend` forgets it (`lockgate-rewrite`'s src/in_progress.rs, by this name).
extern "C" {
__thread bool _lg_terminating;
}

namespace {

// `lockgate`'s crates/lockgate-syscall/src/calls/functions.rs.
const long LAST_WORDS = 401;

// Each thread has its own: several may be in the handler at once.
struct Words {
    char text[400] = "";
    std::size_t length = 0;

    void say(const char *more) {
        for (; *more && length + 1 < sizeof text; more++) text[length++] = *more;
        text[length] = 0;
    }
};

// An exception that is being handled, as far as libstdc++ says: the fifth word leads to the one that was before it.
struct Handled {
    void *others[4];
    Handled *before;
};

// As the C++ ABI has it.
struct Globals {
    Handled *caught;
    unsigned uncaught;
};

// The domain may be called again, and this call may be nested in another one of the domain's, which has exceptions of its own: of this call's the one
// that nobody has caught is handled no longer. (What else it had in progress stays until the thread's outermost call is over: docs/limits.md.)
[[noreturn]] void end(const Words &words, bool has_one) {
    Globals *globals = reinterpret_cast<Globals *>(abi::__cxa_get_globals());
    if (has_one && globals->caught) globals->caught = globals->caught->before;
    _lg_terminating = false;
    lg_call3(LAST_WORDS, reinterpret_cast<long>(words.text), static_cast<long>(words.length), 0);
    std::abort();
}

}

namespace __gnu_cxx {

void __verbose_terminate_handler() {
    if (_lg_terminating) {
        _lg_terminating = false;
        std::fputs("terminate called recursively\n", stderr);
        std::abort();
    }
    _lg_terminating = true;
    Words words;
    std::type_info *type = abi::__cxa_current_exception_type();
    if (!type) {
        std::fputs("terminate called without an active exception\n", stderr);
        words.say("std::terminate without an exception");
        end(words, false);
    }
    int status = -1;
    const char *mangled = type->name();
    char *readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    const char *name = status == 0 ? readable : mangled;
    std::fprintf(stderr, "terminate called after throwing an instance of '%s'\n", name);
    words.say("an uncaught exception: ");
    words.say(name);
    try {
        throw;
    } catch (const std::exception &exception) {
        const char *what = exception.what();
        std::fprintf(stderr, "  what():  %s\n", what);
        words.say(": ");
        words.say(what);
    } catch (...) {
    }
    std::free(readable);
    end(words, true);
}

}
