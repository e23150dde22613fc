// The default handler of std::terminate: it says what libstdc++'s says, and lets the error of the call into the domain say it, too.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

#include "../libc/call.h"

namespace {

// `lockgate`'s crates/lockgate-syscall/src/calls/functions.rs.
const long LAST_WORDS = 401;

char words[400];

void say(const char *text) {
    std::size_t length = std::strlen(words);
    std::size_t more = std::strlen(text);
    if (more >= sizeof words - length) more = sizeof words - 1 - length;
    std::memcpy(words + length, text, more);
}

// Whether a thread is in the handler: what it calls may end by std::terminate itself.
bool terminating;

// The domain may be called again: nothing of this exception stays, neither here nor as the one that is being handled.
[[noreturn]] void end() {
    struct Globals {
        void *caught;
        unsigned uncaught;
    };
    *reinterpret_cast<Globals *>(abi::__cxa_get_globals()) = Globals();
    terminating = false;
    lg_call3(LAST_WORDS, reinterpret_cast<long>(words), static_cast<long>(std::strlen(words)), 0);
    std::abort();
}

}

namespace __gnu_cxx {

void __verbose_terminate_handler() {
    if (terminating) {
        terminating = false;
        std::fputs("terminate called recursively\n", stderr);
        std::abort();
    }
    terminating = true;
    std::memset(words, 0, sizeof words);
    std::type_info *type = abi::__cxa_current_exception_type();
    if (!type) {
        std::fputs("terminate called without an active exception\n", stderr);
        say("std::terminate without an exception");
        end();
    }
    int status = -1;
    const char *mangled = type->name();
    char *readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    const char *name = status == 0 ? readable : mangled;
    std::fprintf(stderr, "terminate called after throwing an instance of '%s'\n", name);
    say("an uncaught exception: ");
    say(name);
    try {
        throw;
    } catch (const std::exception &exception) {
        const char *what = exception.what();
        std::fprintf(stderr, "  what():  %s\n", what);
        say(": ");
        say(what);
    } catch (...) {
    }
    std::free(readable);
    end();
}

}
