/* A program of given.h. */
#define _GNU_SOURCE
#include <given.h>
#include <sys/mman.h>

#define LAST_ERROR lg_given_error
#include "check.h"

static void *last;
static int heard;

static void hear(void *user, int n)
{
    last = user;
    heard += n;
}

/* What the program finds behind the handle, as expat's XML_GetUserData does. */
#define SHOWN(g) (*(void **)(g))

static void buffers(void)
{
    char bytes[] = "abcdefgh";
    size_t n = 8;
    CHECK(given_inplace(bytes, &n) == 0 && n == 4);
    CHECK(memcmp(bytes, "bcdefghi", 8) == 0);
    struct given_piece piece = {bytes, 8};
    CHECK(given_piece(&piece) == 0 && piece.bytes == bytes && piece.n == 4);
    CHECK(memcmp(bytes, "cdefghij", 8) == 0);

    n = 8;
    CHECK(given_more(bytes, &n) == -1 && LAST_ERROR()->kind == LG_STUB_LENGTH);
    CHECK(n == 8 && bytes[0] == 'c');

    char line[600];
    memset(line, '.', sizeof line);
    CHECK(given_line(line, 599, 1) == 0);
    CHECK(memcmp(line, "xx\0xxx", 6) == 0 && line[598] == 'x' && line[599] == '.');
    memset(line, '.', sizeof line);
    CHECK(given_line(line, 599, 0) == -1 && LAST_ERROR()->kind == LG_STUB_STRING);
    CHECK(line[0] == '.');

    /* At the end of what the program can read. */
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
    memcpy(page + 4093, "abc", 3);
    CHECK(given_begins(page + 4093, 3) == 3);
    CHECK(given_begins(page + 4093, 2) == 2);
    CHECK(given_begins(page + 4096, 0) == 0);
    page[4095] = 0;
    CHECK(given_begins(page + 4093, 100) == 2);
    CHECK(given_begins("text", -1) == -1 && LAST_ERROR()->kind == LG_STUB_SIZE);
}

static void resets(void)
{
    int one, other;
    struct given *g = given_new();
    given_on(g, hear);
    given_user(g, &one);
    CHECK(given_say(g, 1) == 0 && last == &one && SHOWN(g) == &one);
    given_itself(g);
    CHECK(given_say(g, 1) == 0 && last == g && SHOWN(g) == &one);

    /* One that fails has forgotten nothing. */
    CHECK(given_reset(g, 0) == -1);
    CHECK(given_say(g, 1) == 0 && last == g && SHOWN(g) == &one);

    /* What was given before is given no more: null is, until something is given anew. */
    CHECK(given_reset(g, 1) == 0 && SHOWN(g) == 0);
    CHECK(given_say(g, 1) == 0 && !last);
    CHECK(given_say_old(g, 1) == -1 && LAST_ERROR()->kind == LG_STUB_DATA);
    given_user(g, &other);
    CHECK(given_say(g, 1) == 0 && last == &other && SHOWN(g) == &other);
    CHECK(given_say_old(g, 1) == -1 && heard == 5);
    given_user(g, &one);
    CHECK(given_say(g, 1) == 0 && last == &one);
    given_itself(g);
    CHECK(given_say(g, 1) == 0 && last == g);
    given_free(g);
}

int main(void)
{
    buffers();
    resets();
    return failures != 0;
}
