/* A program that uses the library, first as it should be, then hostile: it must come to its end whatever the library does. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tricky.h>

#define LAST_ERROR lg_tricky_error
#define SET_MODE tricky_mode
#include "check.h"

static int calls;
static char mine[] = "mine";

static int on_notify(void *data, const char *text, const int *numbers, int n)
{
    calls++;
    CHECK(data == mine && strcmp(text, "called") == 0 && n == 3 && numbers[2] == 3);
    /* Calls nest: what went in with the outer one stays. */
    CHECK(tricky_sum(numbers, n) == 6);
    return 42;
}

static int on_other(void *data, const char *text, const int *numbers, int n)
{
    (void)data, (void)text, (void)numbers, (void)n;
    return 1;
}

static int second(const int *values) { return values[1]; }

static int last(const int *values) { return values[1999]; }

static void good(void)
{
    int values[] = {1, 2, 3, -4};
    CHECK(tricky_sum(values, 4) == 2);
    char buffer[64] = "";
    CHECK(tricky_fill(buffer, 6) == 3 && strcmp(buffer, "aaa") == 0);
    size_t length = 10;
    memset(buffer, 0, sizeof buffer);
    CHECK(tricky_grow(buffer, &length) == 0 && length == 3 && strcmp(buffer, "ggg") == 0);
    CHECK(strcmp(tricky_text(1), "some text") == 0 && tricky_text(0) == NULL);
    CHECK(tricky_print(buffer, sizeof buffer, "%d and %s", 7, "more") == 10 && strcmp(buffer, "7 and more") == 0);

    struct thing *thing = tricky_open(5), *first = thing;
    CHECK(thing && tricky_value(thing) == 5);
    CHECK(tricky_replace(&thing) == 5 && thing != first && tricky_value(thing) == 6);
    struct thing *none = NULL;
    CHECK(tricky_replace(&none) == -1 && tricky_value(none) == 0);
    tricky_close(first);

    CHECK(tricky_set(on_notify) == NULL && tricky_set(on_other) == on_notify && tricky_set(NULL) == on_other);
    CHECK(tricky_call(on_notify, mine) == 42 && calls == 1 && tricky_data() == mine);

    struct point p = tricky_mirror((struct point){1, 2}, GREEN);
    CHECK(p.x == 2 && p.y == 1);
    union number number = {.d = 5};
    tricky_halve(&number);
    CHECK(number.d == 2.5);
    struct named named = {"abc", {1, 2, 3}, GREEN, {8, 9}};
    CHECK(tricky_named(&named, &p) == 13 && p.x == 3 && p.y == 9);
    const struct named *shown = tricky_show();
    CHECK(shown && strcmp(shown[0].name, "first") == 0 && strcmp(shown[1].name, "second") == 0 && shown[1].at.y == 8);
    CHECK(shown == tricky_show());
    double matrix[] = {1, 2, 3, 4};
    CHECK(tricky_matrix(matrix, 2, 2) == 10);
    const char *text = "find me";
    CHECK(tricky_find(text, 'm') == text + 5 && tricky_find(text, 'z') == NULL);
    errno = 0;
    CHECK(tricky_open_file("/no/such/file") == -1 && errno == ENOENT);
    CHECK(tricky_count(200) == 200);
    CHECK(tricky_two(second) == 7 && tricky_many(last) == 9);
    CHECK(lg_tricky_error()->kind == LG_STUB_NONE);
}

static void hostile(void)
{
    char buffer[64] = "before";
    size_t length = 10;
    FAILS(1, tricky_text(1) == NULL, LG_STUB_POINTER, "result");
    FAILS(9, tricky_text(1) == NULL, LG_STUB_POINTER, "result");
    FAILS(2, tricky_text(1) == NULL, LG_STUB_STRING, "result");
    FAILS(2, tricky_print(buffer, sizeof buffer, "x") == -1, LG_STUB_STRING, "out");
    FAILS(3, tricky_fill(buffer, 6) == -1, LG_STUB_LENGTH, "out");
    FAILS(3, tricky_grow(buffer, &length) == -1, LG_STUB_LENGTH, "out");
    FAILS(3, __builtin_isnan(tricky_count(9)), LG_STUB_LENGTH, "result");
    /* Nothing of what a refused call wrote has arrived. */
    CHECK(strcmp(buffer, "before") == 0 && length == 10);
    FAILS(4, tricky_open(1) == NULL, LG_STUB_HANDLE, "result");
    FAILS(10, tricky_open(1) == NULL, LG_STUB_HANDLE, "result");
    struct thing *thing = tricky_open(1), *before = thing;
    FAILS(4, tricky_replace(&thing) == -1 && thing == before, LG_STUB_HANDLE, "thing");
    FAILS(5, tricky_set(on_notify) == NULL, LG_STUB_CALLBACK, "result");
    calls = 0;
    FAILS(1, tricky_call(on_notify, mine) == -1, LG_STUB_POINTER, "text");
    FAILS(3, tricky_call(on_notify, mine) == -1, LG_STUB_SIZE, "numbers");
    FAILS(6, tricky_call(on_notify, mine) == -1, LG_STUB_DATA, "data");
    /* What came with another callback. */
    CHECK(tricky_call(on_other, buffer) == 1);
    FAILS(11, tricky_call(on_notify, mine) == -1, LG_STUB_DATA, "data");
    FAILS(7, tricky_call(on_notify, mine) == -1, LG_STUB_NULL, "text");
    FAILS(8, tricky_call(on_notify, mine) == -1, LG_STUB_SIZE, "numbers");
    CHECK(calls == 0);
    FAILS(6, tricky_data() == NULL, LG_STUB_DATA, "result");
    FAILS(1, tricky_show() == NULL, LG_STUB_POINTER, "name");
    const char *text = "short";
    FAILS(1, tricky_find(text, 's') == NULL, LG_STUB_POINTER, "result");
    FAILS(0, tricky_crash(NULL) == -7, LG_STUB_FAULT, "call");
    FAILS(0, tricky_loop() == -8, LG_STUB_FAULT, "call");

    /* What the program itself gets wrong. */
    int local = 0;
    FAILS(0, tricky_crash(&local) == -7, LG_STUB_NULL, "p");
    FAILS(0, tricky_value((struct thing *)&local) == -1, LG_STUB_HANDLE, "thing");
    FAILS(0, tricky_value((struct thing *)((char *)thing + 8)) == -1, LG_STUB_HANDLE, "thing");
    tricky_close(thing);
    FAILS(0, tricky_value(thing) == -1, LG_STUB_HANDLE, "thing");
    double matrix[] = {1};
    FAILS(0, tricky_matrix(matrix, -1, 1) == -2, LG_STUB_SIZE, "m");
    FAILS(0, tricky_matrix(matrix, 1L << 62, 1L << 62) == -2, LG_STUB_SIZE, "m");
}

int main(void)
{
    good();
    hostile();
    /* The library works on. */
    CHECK(tricky_sum((int[]){1, 2}, 2) == 3);
    printf("%d failures\n", failures);
    return failures != 0;
}
