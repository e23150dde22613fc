/* What compilers call for atomic objects that no single instruction serves: of 16 bytes, of other sizes, not aligned. libatomic's names.

   Objects of 1, 2, 4, 8 and 16 bytes that are aligned to their size are accessed by instructions, whatever the function; all others under a
   lock, which is chosen by their address. So one object is always accessed in one way. A handler of a signal may use those with a lock no more
   than with gcc's library: what it has interrupted may hold the lock. */
#include <fenv.h>
#include <stdint.h>
#include <string.h>

#include "musl.h"

/* The compiler knows the functions by their own names, with other types. */
#define NAMED(name) __asm__("__atomic_" name)

typedef unsigned __int128 lg_u128;

/* Writes `value` over `*expected`; what there is otherwise goes there. */
__attribute__((target("cx16"))) static int swap_16(volatile void *object, lg_u128 *expected, lg_u128 value) {
    lg_u128 old = __sync_val_compare_and_swap((volatile lg_u128 *)object, *expected, value);
    int is_written = old == *expected;
    *expected = old;
    return is_written;
}

/* As the two halves are read one after the other, it is a guess. */
static lg_u128 guess_16(volatile void *object) {
    volatile uint64_t *halves = object;
    return (lg_u128)halves[1] << 64 | halves[0];
}

lg_u128 lg_load_16(volatile void *object, int order) NAMED("load_16");
lg_u128 lg_load_16(volatile void *object, int order) {
    lg_u128 old = guess_16(object);
    swap_16(object, &old, old);
    return old;
}

_Bool lg_swap_16(volatile void *, lg_u128 *, lg_u128, int, int) NAMED("compare_exchange_16");
_Bool lg_swap_16(volatile void *object, lg_u128 *expected, lg_u128 value, int success, int failure) {
    return swap_16(object, expected, value);
}

/* A function that writes `next`, made of `old` and `value`, and returns `result`. */
#define CHANGE_16(name, next, result)                                          \
    lg_u128 lg_##name##_16(volatile void *, lg_u128, int) NAMED(#name "_16");  \
    lg_u128 lg_##name##_16(volatile void *object, lg_u128 value, int order) {  \
        lg_u128 old = guess_16(object);                                        \
        while (!swap_16(object, &old, next));                                  \
        return result;                                                         \
    }
#define FETCH_16(name, next)             \
    CHANGE_16(fetch_##name, next, old)   \
    CHANGE_16(name##_fetch, next, next)

CHANGE_16(exchange, value, old)
FETCH_16(add, old + value)
FETCH_16(sub, old - value)
FETCH_16(and, old & value)
FETCH_16(or, old | value)
FETCH_16(xor, old ^ value)
FETCH_16(nand, ~(old & value))

void lg_store_16(volatile void *, lg_u128, int) NAMED("store_16");
void lg_store_16(volatile void *object, lg_u128 value, int order) { lg_exchange_16(object, value, order); }

/* The same for sizes that the processor has: with -fno-inline-atomics gcc calls these. */
#define FETCH(size, type, name)                                                                   \
    type lg_fetch_##name##_##size(volatile void *, type, int) NAMED("fetch_" #name "_" #size);    \
    type lg_fetch_##name##_##size(volatile void *object, type value, int order) {                 \
        return __atomic_fetch_##name((volatile type *)object, value, __ATOMIC_SEQ_CST);           \
    }                                                                                             \
    type lg_##name##_fetch_##size(volatile void *, type, int) NAMED(#name "_fetch_" #size);       \
    type lg_##name##_fetch_##size(volatile void *object, type value, int order) {                 \
        return __atomic_##name##_fetch((volatile type *)object, value, __ATOMIC_SEQ_CST);         \
    }
#define SIZE(size, type)                                                                                           \
    type lg_load_##size(volatile void *, int) NAMED("load_" #size);                                                \
    type lg_load_##size(volatile void *object, int order) {                                                        \
        return __atomic_load_n((volatile type *)object, __ATOMIC_SEQ_CST);                                         \
    }                                                                                                              \
    void lg_store_##size(volatile void *, type, int) NAMED("store_" #size);                                        \
    void lg_store_##size(volatile void *object, type value, int order) {                                           \
        __atomic_store_n((volatile type *)object, value, __ATOMIC_SEQ_CST);                                        \
    }                                                                                                              \
    type lg_exchange_##size(volatile void *, type, int) NAMED("exchange_" #size);                                  \
    type lg_exchange_##size(volatile void *object, type value, int order) {                                        \
        return __atomic_exchange_n((volatile type *)object, value, __ATOMIC_SEQ_CST);                              \
    }                                                                                                              \
    _Bool lg_swap_##size(volatile void *, type *, type, int, int) NAMED("compare_exchange_" #size);                \
    _Bool lg_swap_##size(volatile void *object, type *expected, type value, int success, int failure) {            \
        return __atomic_compare_exchange_n((volatile type *)object, expected, value, 0, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST);                                                      \
    }                                                                                                              \
    FETCH(size, type, add)                                                                                         \
    FETCH(size, type, sub)                                                                                         \
    FETCH(size, type, and)                                                                                         \
    FETCH(size, type, or)                                                                                          \
    FETCH(size, type, xor)                                                                                         \
    FETCH(size, type, nand)

SIZE(1, uint8_t)
SIZE(2, uint16_t)
SIZE(4, uint32_t)
SIZE(8, uint64_t)

static volatile int locks[64];

static volatile int *lock_of(volatile void *object) {
    uintptr_t address = (uintptr_t)object;
    return &locks[(address >> 4 ^ address >> 10) % (sizeof(locks) / sizeof(*locks))];
}

static int is_one_access(size_t size, volatile void *object) {
    return size && size <= 16 && !(size & (size - 1)) && !((uintptr_t)object & (size - 1));
}

/* Whether no lock is needed. Of 16 bytes gcc's library says no, too: a load of them needs memory that may be written. */
_Bool lg_is_lock_free(size_t, volatile void *) NAMED("is_lock_free");
_Bool lg_is_lock_free(size_t size, volatile void *object) { return size < 16 && is_one_access(size, object); }

/* One case for each size of an access that is done by instructions. */
#define CASES(size, object, one)                      \
    switch (is_one_access(size, object) ? size : 0) { \
        one(1, uint8_t);                              \
        one(2, uint16_t);                             \
        one(4, uint32_t);                             \
        one(8, uint64_t);                             \
        one(16, lg_u128);                             \
    }

void lg_load(size_t, volatile void *, void *, int) NAMED("load");
void lg_load(size_t size, volatile void *object, void *to, int order) {
#define ONE(size, type)                                \
    case size: {                                       \
        type value = lg_load_##size(object, order);    \
        memcpy(to, &value, size);                      \
        return;                                        \
    }
    CASES(size, object, ONE)
#undef ONE
    volatile int *lock = lock_of(object);
    __lock(lock);
    memcpy(to, (void *)object, size);
    __unlock(lock);
}

void lg_store(size_t, volatile void *, const void *, int) NAMED("store");
void lg_store(size_t size, volatile void *object, const void *from, int order) {
#define ONE(size, type)                        \
    case size: {                               \
        type value;                            \
        memcpy(&value, from, size);            \
        lg_store_##size(object, value, order); \
        return;                                \
    }
    CASES(size, object, ONE)
#undef ONE
    volatile int *lock = lock_of(object);
    __lock(lock);
    memcpy((void *)object, from, size);
    __unlock(lock);
}

void lg_exchange(size_t, volatile void *, const void *, void *, int) NAMED("exchange");
void lg_exchange(size_t size, volatile void *object, const void *from, void *to, int order) {
#define ONE(size, type)                                   \
    case size: {                                          \
        type value;                                       \
        memcpy(&value, from, size);                       \
        value = lg_exchange_##size(object, value, order); \
        memcpy(to, &value, size);                         \
        return;                                           \
    }
    CASES(size, object, ONE)
#undef ONE
    volatile int *lock = lock_of(object);
    unsigned char *bytes = (unsigned char *)object;
    const unsigned char *next = from;
    unsigned char *old = to;
    __lock(lock);
    /* `from` and `to` may be the same. */
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = bytes[i];
        bytes[i] = next[i];
        old[i] = byte;
    }
    __unlock(lock);
}

_Bool lg_swap(size_t, volatile void *, void *, const void *, int, int) NAMED("compare_exchange");
_Bool lg_swap(size_t size, volatile void *object, void *expected, const void *from, int success, int failure) {
#define ONE(size, type)                                                              \
    case size: {                                                                     \
        type old, value;                                                             \
        memcpy(&old, expected, size);                                                \
        memcpy(&value, from, size);                                                  \
        _Bool is_written = lg_swap_##size(object, &old, value, success, failure);    \
        if (!is_written) memcpy(expected, &old, size);                               \
        return is_written;                                                           \
    }
    CASES(size, object, ONE)
#undef ONE
    volatile int *lock = lock_of(object);
    __lock(lock);
    _Bool is_written = !memcmp((void *)object, expected, size);
    if (is_written) memcpy((void *)object, from, size);
    else memcpy(expected, (void *)object, size);
    __unlock(lock);
    return is_written;
}

/* gcc's code for an assignment like `x += 1.0` to an _Atomic floating-point number raises at its end what the last attempt alone has raised. */
void lg_raise(int) NAMED("feraiseexcept");
void lg_raise(int exceptions) { feraiseexcept(exceptions); }
