/* The program in C of tests/differ.rs. */
#include <df.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char untouched[] = "untouched";

static void show(const char *text) { printf(" %s", text); }
static void show_signed(int64_t value) { printf(" %" PRId64, value); }
static void show_unsigned(uint64_t value) { printf(" %" PRIu64, value); }

static void show_bool(const void *at)
{
    unsigned char byte;
    memcpy(&byte, at, 1);
    if (byte > 1) {
        fprintf(stderr, "a bool of %u\n", byte);
        abort();
    }
    printf(" %u", byte);
}

static void show_float(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        show("nan");
    else
        printf(" %016" PRIx64, bits);
}

static void show_text(const char *text)
{
    if (!text) {
        show("null");
        return;
    }
    printf(" \"");
    for (; *text; text++)
        printf("%02x", (unsigned char)*text);
    printf("\"");
}

/* Exactly so much: a sanitizer sees what lies behind. */
static void *rooms[32];
static int used;

static void *room(size_t size) { return rooms[used++] = malloc(size); }

static void give_back(void)
{
    while (used)
        free(rooms[--used]);
}

static const char *a_text(int n)
{
    static const char *const texts[] = {"", "text", "\xc3\xa4", "a somewhat longer text, and no end of it"};
    return texts[n % 4];
}

static int failed(void)
{
    static const char *const kinds[] = {"",       "Start", "Fault", "Pointer", "String", "Length",
                                        "Handle", "Callback", "Data",  "Null",    "Size",   "Memory"};
    struct lg_stub_error error;
    enum lg_stub_kind kind = lg_df_take_error(&error);
    if (kind)
        printf(" E %s", kinds[kind]);
    return kind != 0;
}

static void show_box(const void *box) { show(box ? "box" : "null"); }

static void show_place(const void *place, const void *start)
{
    if (place)
        show_signed((const char *)place - (const char *)start);
    else
        show("null");
}

/* What the program gives with a function, and gets back with each call. */
static int own[4], turn, times;

static void *my_own(int n)
{
    times = 0;
    return &own[n % 4];
}

static void mine(const void *data)
{
    if (data != &own[turn % 4]) {
        fprintf(stderr, "data that is another's: %p\n", data);
        abort();
    }
}

static int answer(void) { return turn * 3 + times++; }

static void run(int answers, uint64_t seed, void (*const *calls)(int))
{
    for (int n = 0; n < answers; n++)
        for (unsigned i = 0; calls[i]; i++) {
            df_seed(seed * 1000003 + (uint64_t)n * 1009 + i);
            printf("%" PRIu64 " %u %d", seed, i, n);
            calls[i](n);
            printf(" .\n");
            fflush(stdout); /* The next one may end the program. */
        }
}
