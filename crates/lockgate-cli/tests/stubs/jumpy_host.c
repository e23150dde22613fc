/* A program that uses the library, first as it should be, then hostile: it must come to its end whatever the library does. */
#include <jumpy.h>
#include <lockgate.h>
#include <stdlib.h>
#include <string.h>

#define LAST_ERROR lg_jumpy_error
#define SET_MODE jumpy_mode
#include "check.h"

/* What setjmp of this engine returns when `call` is made: 0 if it does not jump. */
#define JUMPS(e, call)                                                                                                 \
    ({                                                                                                                 \
        volatile int lands = 0;                                                                                        \
        if ((lands = setjmp(*jumpy_set_jump(e, longjmp, sizeof(jmp_buf)))) == 0)                                       \
            call;                                                                                                      \
        lands;                                                                                                         \
    })

static int handled;
static char mine[] = "mine";
static jmp_buf own;

static void on_error(struct engine *e, const char *text)
{
    handled++;
    CHECK(strcmp(text, "failing") == 0 && jumpy_data(e) == mine);
}

/* Leaves the library's call by itself. */
static void on_error_jump(struct engine *e, const char *text)
{
    (void)e, (void)text;
    longjmp(own, 9);
}

/* Fails within another call: what jumps jumps over that one. */
static void on_error_fail(struct engine *e, const char *text)
{
    (void)text;
    if (handled++ == 0)
        jumpy_fail(e, 4);
}

static int visits;

static int on_visit(struct engine *e, const struct item *item, char *text)
{
    visits++;
    CHECK(jumpy_ask(e) == 5 && item->number == 3 && strcmp(text, "visited") == 0);
    text[0] = 'V';
    return 1000;
}

static int jumped_with;

static void own_jump(jmp_buf env, int value)
{
    jumped_with = value;
    longjmp(env, value + 1);
}

static void deeper(struct engine *e, int levels)
{
    volatile char room[64] = {0};
    if (levels)
        deeper(e, levels - 1);
    else
        jumpy_fail(e, 6);
    CHECK(room[0] == 0);
}

static void good(void)
{
    struct engine *e = jumpy_open(on_error, mine), *other = jumpy_open(on_error_jump, NULL);
    CHECK(JUMPS(e, jumpy_fail(e, 3)) == 3 && handled == 1);
    CHECK(JUMPS(e, deeper(e, 5)) == 6 && handled == 2);
    CHECK(JUMPS(e, jumpy_stop(e, 8)) == 8);
    CHECK(JUMPS(e, jumpy_ask(e)) == 0);
    /* Often: nothing is left behind. */
    for (volatile int i = 0; i < 2000; i++)
        CHECK(JUMPS(e, deeper(e, i % 7)) == 6);
    /* The program's own way out of a callback. */
    for (volatile int i = 0; i < 500; i++) {
        volatile int lands = setjmp(own);
        if (lands == 0)
            jumpy_fail(other, 1);
        CHECK(lands == 9);
    }
    handled = 0;
    struct engine *nested = jumpy_open(on_error_fail, NULL);
    CHECK(JUMPS(nested, jumpy_fail(nested, 2)) == 4 && handled == 2);
    volatile int lands = setjmp(*jumpy_set_jump(e, own_jump, sizeof(jmp_buf)));
    if (lands == 0)
        jumpy_fail(e, 20);
    CHECK(lands == 21 && jumped_with == 20);
    CHECK(jumpy_set_jump(e, longjmp, sizeof(jmp_buf)) == jumpy_set_jump(e, longjmp, sizeof(jmp_buf)));

    int bytes = 0;
    jumpy_size(e, 3, 4, &bytes);
    char row[7] = "xyzxyz", more[4][7] = {"", "", "", ""}, *rows[4] = {more[0], more[1], NULL, more[3]};
    CHECK(bytes == 6 && jumpy_row(e, row) == 'x' && strcmp(row, "xrrrrr") == 0);
    CHECK(jumpy_image(e, rows) == 4 && strcmp(more[1], "bbbbbb") == 0 && strcmp(more[3], "dddddd") == 0 && more[2][0] == 0);
    char *names[] = {mine, NULL, "longer"};
    CHECK(jumpy_names(names, 3) == 110 && jumpy_names(names, 0) == 0);
    int n = 0;
    char **list = jumpy_list(&n);
    CHECK(n == 2 && strcmp(list[0], "one") == 0 && strcmp(list[1], "two") == 0 && list == jumpy_list(&n));
    CHECK(jumpy_visit(e, on_visit) == 1000 + 'V' && visits == 1);
    jumpy_close(e);

    FILE *from = tmpfile(), *to = tmpfile();
    for (int i = 0; i < 5000; i++)
        fputc(i % 251, from);
    rewind(from);
    CHECK(fgetc(from) == 0 && jumpy_copy(from, to) == 4999 && ftell(to) == 4999);
    /* The library's stream does not remember the end. */
    rewind(from), rewind(to);
    CHECK(jumpy_copy(from, to) == 5000);
    fclose(from), fclose(to);
    CHECK(lg_jumpy_error()->kind == LG_STUB_NONE);
}

/* Buffers in memory that the library has, too, are passed as they are; all others are copied. */
static void shared(void)
{
    char own[16] = "own", *mine = lg_jumpy_alloc(10000);
    if (!mine)
        exit(2);
    jumpy_look(own, 4), jumpy_poke('x');
    CHECK(strcmp(own, "own") == 0);
    strcpy(mine + 100, "shared");
    jumpy_look(mine + 100, 7), jumpy_poke('S');
    CHECK(strcmp(mine + 100, "Shared") == 0);
    jumpy_fill(mine + 200, 3), jumpy_poke('F');
    CHECK(strcmp(mine + 200, "Fff") == 0);
    lg_jumpy_free(mine);
    FAILS(0, (jumpy_poke('x'), 1), LG_STUB_FAULT, "call");

    lg_region *region = lg_region_new(4096);
    char *read_only = lg_region_address(region);
    CHECK(lg_jumpy_share(region, 0));
    strcpy(read_only, "read only");
    jumpy_look(read_only, 10);
    FAILS(0, (jumpy_poke('x'), strcmp(read_only, "read only") == 0), LG_STUB_FAULT, "call");
    jumpy_fill(read_only, 4), jumpy_poke('x');
    CHECK(memcmp(read_only, "ffff only", 10) == 0);
    CHECK(lg_jumpy_unshare(read_only) && !lg_jumpy_unshare(read_only));
    jumpy_look(read_only, 10), jumpy_poke('x');
    CHECK(memcmp(read_only, "ffff only", 10) == 0);
    lg_region_free(region);
}

/* A buffer that is not copied lies in one living block of an arena that is open for the library, with the right to write if the library does; and
 * nothing else does. */
static void in_an_arena(void)
{
    lg_arena *arena = lg_arena_new(8192), *other = lg_arena_new(4096);
    char own[16] = "own", *block = lg_arena_alloc(arena, 100), *foreign = lg_arena_alloc(other, 100);
    strcpy(block, "shared");
    FAILS(0, jumpy_peek(block, 7) == -1, LG_STUB_POINTER, "buffer");
    CHECK(lg_jumpy_open(arena, 0) && !lg_jumpy_open(arena, 0) && !lg_jumpy_open(0, 0));
    CHECK(jumpy_peek(block, 7) == 's');
    FAILS(0, (jumpy_poke('x'), strcmp(block, "shared") == 0), LG_STUB_FAULT, "call");
    FAILS(0, jumpy_put(block, 7) == -1, LG_STUB_POINTER, "buffer");
    CHECK(lg_jumpy_shut(arena) && !lg_jumpy_shut(arena) && lg_jumpy_open(arena, 1));
    CHECK(jumpy_peek(block + 1, 99) == 'h' && jumpy_peek(0, 7) == 0);
    /* Also after the call, for that is what it is for. */
    CHECK(jumpy_put(block, 3) == 3 && strcmp(block, "pppred") == 0);
    jumpy_poke('X');
    CHECK(strcmp(block, "Xppred") == 0);
    /* Too long, elsewhere, another arena's, freed. */
    FAILS(0, jumpy_peek(block, 101) == -1, LG_STUB_POINTER, "buffer");
    FAILS(0, jumpy_peek(own, 4) == -1, LG_STUB_POINTER, "buffer");
    FAILS(0, jumpy_peek(foreign, 4) == -1, LG_STUB_POINTER, "buffer");
    lg_arena_free(arena, block);
    FAILS(0, jumpy_peek(block, 4) == -1, LG_STUB_POINTER, "buffer");
    /* Closed, and something else is there: not what the library has at that place. */
    block = lg_arena_alloc(arena, 100);
    lg_arena_close(arena);
    FAILS(0, jumpy_peek(block, 4) == -1, LG_STUB_POINTER, "buffer");
    FAILS(0, (jumpy_poke('x'), 1), LG_STUB_FAULT, "call");
    CHECK(lg_jumpy_shut(arena) && !lg_jumpy_shut(arena));
    lg_arena_close(other);
}

/* What goes both ways arrives and comes back; no number of anything is below zero, and none of it reaches the program. */
static void both_ways(void)
{
    char text[8] = "word";
    CHECK(jumpy_upper(text, sizeof text) == 4 && strcmp(text, "WORD") == 0);
    strcpy(text, "abcd");
    FAILS(17, jumpy_upper(text, 8) == -1 && strcmp(text, "abcd") == 0, LG_STUB_STRING, "text");
    char some[8] = "12345678";
    int n = 8;
    CHECK(jumpy_some(some, &n) == 0 && n == 7 && memcmp(some, "sssssss8", 8) == 0);
    FAILS(18, jumpy_some(some, &n) == -1 && n == 7, LG_STUB_LENGTH, "out");
    memset(some, '.', 8);
    CHECK(jumpy_part(some, 8, &n) == 0 && n == 7 && memcmp(some, "ppppppp.", 8) == 0);
    memset(some, '.', 8);
    FAILS(18, jumpy_part(some, 8, &n) == -1 && n == 7 && some[0] == '.', LG_STUB_LENGTH, "out");
    CHECK(jumpy_list_of(&n) && n == 4);
    FAILS(18, jumpy_list_of(&n) == NULL && n == 4, LG_STUB_SIZE, "result");
    /* Where the program goes on is where something is. */
    struct taken taken = {"eight ch", 8, 0};
    CHECK(jumpy_take(&taken) == 0 && taken.pos == 8 && jumpy_mark(&n, 5) == 0 && n == 5);
    for (int hostile = 20; hostile < 22; hostile++) {
        taken.pos = 3;
        FAILS(hostile, jumpy_take(&taken) == -1 && taken.pos == 3, LG_STUB_LENGTH, "from");
        FAILS(hostile, jumpy_mark(&n, 7) == -1 && n == 5, LG_STUB_LENGTH, "at");
    }
}

/* Strings are the program's own, wherever they stand: the library could take away their end before it is looked for. */
static void strings_in(char *shared)
{
    strcpy(shared, "shared");
    char *names[] = {mine, shared};
    struct label label = {shared, 1}, own_label = {"own", 1};
    CHECK(jumpy_names(names, 1) == 4 && jumpy_label(&own_label) == 4 && jumpy_labels(&own_label, 1) == 4);
    FAILS(0, jumpy_names(names, 2) == -1, LG_STUB_POINTER, "names");
    FAILS(0, jumpy_label(&label) == -1, LG_STUB_POINTER, "string");
    FAILS(0, jumpy_labels(&label, 1) == -1, LG_STUB_POINTER, "string");
    const char *format = shared;
    CHECK(jumpy_print("%s %*d %.2Lf %5.1f %%", mine, 3, 7, 1.5L, 2.5) == 21);
    FAILS(0, jumpy_print("%d %s", 1, shared) == -1, LG_STUB_POINTER, "format");
    FAILS(0, jumpy_print("%s %.1Lf %*d %s", mine, 1.5L, 3, 7, shared) == -1, LG_STUB_POINTER, "format");
    FAILS(0, jumpy_print(format) == -1, LG_STUB_POINTER, "format");
    CHECK(strcmp(jumpy_format("%s %d", mine, 7), "mine 7") == 0);
    FAILS(0, jumpy_format("%d %s", 1, shared) == NULL, LG_STUB_POINTER, "format");
    FAILS(0, jumpy_format(format) == NULL, LG_STUB_POINTER, "format");
}

static void strings_in_shared_memory(void)
{
    char *shared = lg_jumpy_alloc(4096);
    strings_in(shared);
    lg_jumpy_free(shared);
    lg_arena *arena = lg_arena_new(4096);
    char *block = lg_arena_alloc(arena, 100);
    /* (One that this library may only read another may write.) */
    for (int writable = 0; writable < 2; writable++) {
        CHECK(lg_jumpy_open(arena, writable));
        strings_in(block);
        CHECK(lg_jumpy_shut(arena));
    }
    lg_arena_close(arena);
    CHECK(jumpy_print("%s", "own") == 3);
}

/* Where rows are, the program has said before the call. */
static void on_progress(const char *what, int size)
{
    (void)size;
    CHECK(what[0] == 0x41);
}

static void rows_in_the_librarys_memory(void)
{
    char first[8] = "", second[8] = "";
    char **rows = (char **)(void *)jumpy_room(2 * sizeof *rows);
    rows[0] = first;
    rows[1] = second;
    CHECK(jumpy_draw(rows, 2, on_progress) == 2);
    CHECK(strcmp(first, "written") == 0 && strcmp(second, "written") == 0);
}

/* What a call leaves in a register that carries no argument. */
static unsigned long seen(unsigned long (*look)(void))
{
    unsigned long secret = 0x5ec7e7;
    __asm__ volatile("movq %0,%%xmm15" : : "r"(secret) : "xmm15");
    return look();
}

static void policies(void)
{
    /* Warm: the first call of a thread goes a longer way. */
    jumpy_seen_open(), jumpy_seen_closed();
    CHECK(seen(jumpy_seen_open) == 0x5ec7e7);
    CHECK(seen(jumpy_seen_closed) == 0);
}

static void hostile(void)
{
    struct engine *e = jumpy_open(NULL, NULL), *other = jumpy_open(on_error, mine);
    jmp_buf *given = jumpy_set_jump(e, longjmp, sizeof(jmp_buf));
    /* There is always the same jmp_buf, whatever the library says. */
    FAILS(1, jumpy_set_jump(e, longjmp, sizeof(jmp_buf)) == given, LG_STUB_POINTER, "result");
    FAILS(2, jumpy_set_jump(e, longjmp, sizeof(jmp_buf)) == given, LG_STUB_NULL, "result");
    CHECK(setjmp(*jumpy_set_jump(e, longjmp, 1)) == 0);
    /* A call that fails jumps where its handle's errors go: 1 as with any error that has no number. */
    FAILS(3, JUMPS(e, jumpy_fail(e, 3)) == 1, LG_STUB_JUMP, "env");
    int lands = JUMPS(other, jumpy_ask(other));
    CHECK(lands == 0);
    if (lands)
        return;
    FAILS(4, JUMPS(e, jumpy_fail(e, 3)) == 1, LG_STUB_JUMP, "env");
    jumpy_close(other);
    FAILS(5, JUMPS(e, jumpy_fail(e, 3)) == 1, LG_STUB_FAULT, "call");
    FAILS(6, JUMPS(e, jumpy_stop(e, 3)) == 1, LG_STUB_FAULT, "call");
    /* Where no error is expected the function that called setjmp may have returned. */
    FAILS(7, JUMPS(e, CHECK(jumpy_ask(e) == -1)) == 0, LG_STUB_JUMP, "env");
    FAILS(0, jumpy_data(other) == NULL, LG_STUB_HANDLE, "e");

    char row[8] = "xyzxyz!";
    FAILS(0, JUMPS(e, jumpy_row(e, row)) == 1, LG_STUB_SIZE, "jumpy_size");
    int bytes = 0;
    jumpy_mode(8);
    jumpy_size(e, 3, 2, &bytes);
    FAILS(0, JUMPS(e, jumpy_row(e, row)) == 1, LG_STUB_SIZE, "row");
    jumpy_size(e, 3, 2, &bytes);
    jumpy_mode(9);
    CHECK(JUMPS(e, jumpy_row(e, row)) == 0 && strcmp(row, "xrrrrr!") == 0);
    jumpy_mode(10);
    char more[2][8] = {"", ""}, *rows[2] = {more[0], more[1]};
    CHECK(jumpy_image(e, rows) == 2 && rows[1] == more[1] && strcmp(more[1], "bbbbbb") == 0);
    jumpy_mode(0);
    /* The same engine's address, opened again, has been told nothing. */
    jumpy_close(e);
    FAILS(0, jumpy_row(e, row) == -1, LG_STUB_HANDLE, "e");

    jumpy_open(on_error, mine);
    e = jumpy_open(NULL, NULL);
    FAILS(0, jumpy_names((char *[]){mine}, -1) == -1, LG_STUB_SIZE, "names");
    int n = 7;
    char **list = jumpy_list(&n);
    FAILS(11, jumpy_list(&n) == NULL && strcmp(list[1], "two") == 0, LG_STUB_POINTER, "result");
    FAILS(12, jumpy_list(&n) == NULL && n == 2, LG_STUB_SIZE, "result");
    visits = 0;
    FAILS(13, jumpy_visit(e, on_visit) == -1, LG_STUB_SIZE, "text");
    FAILS(14, jumpy_visit(e, on_visit) == -1, LG_STUB_HANDLE, "e");
    FAILS(15, jumpy_visit(e, on_visit) == -1, LG_STUB_POINTER, "item");
    CHECK(visits == 0);
    FILE *from = tmpfile(), *to = tmpfile();
    fputs("text", from), rewind(from);
    FAILS(16, jumpy_copy(from, to) == -1, LG_STUB_DATA, "stream");
    jumpy_mode(0);
    fclose(from), fclose(to);
    /* Nor does an answer end what the program has: where its errors go is known as before. */
    CHECK(JUMPS(e, jumpy_fail(e, 3)) == 3);
    FAILS(19, jumpy_piece(e) == NULL, LG_STUB_HANDLE, "result");
    CHECK(jumpy_ask(e) == 5 && JUMPS(e, jumpy_fail(e, 4)) == 4);
    struct part *part = jumpy_piece(e);
    CHECK(part);
    jumpy_free_part(part);
}

int main(void)
{
    good();
    shared();
    in_an_arena();
    both_ways();
    strings_in_shared_memory();
    rows_in_the_librarys_memory();
    policies();
    hostile();
    printf("%d failures\n", failures);
    return failures != 0;
}
