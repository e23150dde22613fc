/* The program of tests/hammer.rs: what it may look at, it looks at. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAGIC 0x10c49a7eu

static __thread uint64_t random_state;
static unsigned owned[64];
static unsigned long all_calls, all_failures;
static int over;

static uint64_t hm_any(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static long hm_small(void) { return hm_any() % 16 ? (long)(hm_any() % 17) : -1; }

/* Exactly so much, until the call is over. No domain takes more than 1 GiB (a length of -1, in 32 bits, asks for 4): of such a size there is only the
 * beginning, and AddressSanitizer sees it if any more is read. (To make, fill and give back 4 GiB takes each thread seconds.) */
static __thread void *rooms[64];
static __thread unsigned used;

static void *hm_room(size_t size)
{
    if (size > (size_t)1 << 30)
        size = 4096;
    void *at = used < 64 ? malloc(size) : 0;
    if (at)
        memset(rooms[used++] = at, 'r', size);
    return at;
}

static void *hm_text_room(long size)
{
    size = size < 1 ? 1 : size;
    char *at = hm_room((size_t)size);
    if (at)
        at[size - 1] = 0;
    return at;
}

static void *hm_number(size_t size)
{
    unsigned char *at = hm_room(size);
    if (at) {
        memset(at, 0, size);
        *at = (unsigned char)(hm_any() % 17);
        if (size == 1)
            *at &= 1;
    }
    return at;
}

static void *hm_empty(size_t size)
{
    void *at = hm_room(size);
    return at ? memset(at, 0, size) : 0;
}

static void *hm_kept(size_t size)
{
    static __thread char structures[4][512] __attribute__((aligned(16)));
    return size > 512 ? 0 : memset(structures[hm_any() % 4], 0, size);
}

static void hm_give_back(void)
{
    while (used)
        free(rooms[--used]);
}

static FILE *hm_stream(void)
{
    static __thread FILE *file;
    return file ? file : (file = tmpfile());
}

static void *hm_data(void) { return hm_any() % 8 ? &owned[hm_any() % 64] : 0; }

/* Formats that have what is passed with them, and less. */
static const char *hm_format(void)
{
    static const char *const formats[] = {"", "%d %s %f %c %ld", "%d", "%5d and %-9s", "%%", "%d %.3s %g"};
    return formats[hm_any() % 6];
}

/* Handles that callbacks get in place of data: of any thread's, since the library may give back on one what it was given on another. */
static const void *volatile as_data[1 << 16];
static unsigned data_given;

static void hm_is_data(const void *handle)
{
    as_data[__atomic_fetch_add(&data_given, 1, __ATOMIC_RELAXED) % (1 << 16)] = handle;
}

/* Calls that make one and have not said so yet. (None of them is left by a jump.) */
static unsigned making;
static __thread unsigned makes_here;

static void hm_makes(int more)
{
    makes_here += more;
    __atomic_fetch_add(&making, more, __ATOMIC_RELAXED);
}

static int hm_was_handle(const void *pointer)
{
    if (__atomic_load_n(&making, __ATOMIC_RELAXED) != makes_here)
        return 1;
    for (unsigned i = 0; i < 1 << 16; i++)
        if (as_data[i] == pointer)
            return 1;
    return 0;
}

/* The program's own data, or none. */
static void hm_mine(const void *pointer)
{
    if (pointer && !hm_was_handle(pointer) && ((const unsigned *)pointer < owned || (const unsigned *)pointer >= owned + 64 || *(const unsigned *)pointer != MAGIC)) {
        fprintf(stderr, "data that is not the program's: %p\n", pointer);
        abort();
    }
}

static void hm_boolean(const void *at)
{
    if (at && *(const unsigned char *)at > 1) {
        fprintf(stderr, "a bool of %u\n", *(const unsigned char *)at);
        abort();
    }
}

static volatile unsigned long sum;

static void hm_touch(const volatile void *at, size_t size)
{
    const volatile unsigned char *byte = at;
    size_t step = size > 4096 ? size / 1024 : 1;
    unsigned long total = 0;
    for (size_t i = 0; i < size; i += step)
        total += byte[i];
    if (size)
        total += byte[size - 1];
    sum += total;
}

static __thread void *handles[64][16];

static void *hm_handle(unsigned type) { return handles[type % 64][hm_any() % 16]; }

static void hm_born(unsigned type, const void *handle)
{
    if (handle)
        handles[type % 64][hm_any() % 16] = (void *)handle;
}

static void hm_dead(const void *handle)
{
    for (unsigned i = 0; handle && i < 64; i++)
        for (unsigned j = 0; j < 16; j++)
            if (handles[i][j] == handle && hm_any() % 4)
                handles[i][j] = 0;
}

/* A jmp_buf that the last call gave: the loop below, which ends last, calls setjmp with it. */
static __thread jmp_buf *hm_landing;
static unsigned long all_jumps;

static void *thread(void *number);

#define MAIN                                                                                            \
    static void *thread(void *number)                                                                   \
    {                                                                                                   \
        random_state = (uint64_t)number * 7919 + 12345;                                                 \
        volatile unsigned long done = 0, failed = 0;                                                    \
        while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {                                             \
            int before = ERROR()->kind;                                                                 \
            calls[hm_any() % CALLS]();                                                                  \
            jmp_buf *landing = hm_landing;                                                              \
            hm_landing = 0;                                                                             \
            if (landing && setjmp(*landing)) {                                                          \
                hm_give_back();                                                                         \
                __atomic_fetch_add(&all_jumps, 1, __ATOMIC_RELAXED);                                    \
                continue;                                                                               \
            }                                                                                           \
            failed += ERROR()->kind != before;                                                          \
            done++;                                                                                     \
        }                                                                                               \
        __atomic_fetch_add(&all_calls, done, __ATOMIC_RELAXED);                                         \
        return 0;                                                                                       \
    }                                                                                                   \
                                                                                                        \
    int main(int count, char **arguments)                                                               \
    {                                                                                                   \
        pthread_t threads[3];                                                                           \
        for (unsigned i = 0; i < 64; i++)                                                               \
            owned[i] = MAGIC;                                                                           \
        for (uintptr_t i = 0; i < 3; i++)                                                               \
            pthread_create(&threads[i], 0, thread, (void *)(i + 1));                                    \
        struct timespec pause = {count > 1 ? atol(arguments[1]) : 1, 0};                                \
        while (nanosleep(&pause, &pause))                                                               \
            ;                                                                                           \
        __atomic_store_n(&over, 1, __ATOMIC_RELAXED);                                                   \
        for (unsigned i = 0; i < 3; i++)                                                                \
            pthread_join(threads[i], 0);                                                                \
        printf("%lu calls, %lu jumps\n", all_calls, all_jumps);                                                               \
        return 0;                                                                                       \
    }
