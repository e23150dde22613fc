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

[[noreturn]] void end() {
    lg_call3(LAST_WORDS, reinterpret_cast<long>(words), static_cast<long>(std::strlen(words)), 0);
    std::abort();
}

}

namespace __gnu_cxx {

void __verbose_terminate_handler() {
    static bool terminating;
    if (terminating) {
        std::fputs("terminate called recursively\n", stderr);
        std::abort();
    }
    terminating = true;
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
