/* What _FORTIFY_SOURCE makes of calls: objects that were compiled with glibc's headers call these, and musl has none of them. `room` is
   the size of the object that is written to, as far as the compiler knew it, else SIZE_MAX. */
#ifndef FORTIFY_H
#define FORTIFY_H

#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void __chk_fail(void);

/* Ends the program before more is written than there is room for. */
static inline void lg_fits(size_t size, size_t room) {
    if (__builtin_expect(size > room, 0)) __chk_fail();
}

/* The same of `count` elements. */
static inline void lg_elements_fit(size_t count, size_t size, size_t room) {
    if (__builtin_expect(count > room / size, 0)) __chk_fail();
}

/* A checked function that does no more than to ask whether `size` fits, and then what `name` does. */
#define LG_CHECKED(result, name, parameters, size, call) \
    result __##name##_chk parameters { \
        lg_fits(size, room); \
        return call; \
    }

#endif
