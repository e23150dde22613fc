/* A program that frees what a library gave it to keep, as it does with the library itself; under AddressSanitizer, which knows each piece. */
#include <keeper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_ERROR lg_keeper_error
#include "check.h"

static void honest(void)
{
    char *text = keeper_join("lock", "gate");
    CHECK(text && strcmp(text, "lockgate") == 0);
    char *other = keeper_join("", "");
    CHECK(other && other != text && *other == 0 && strcmp(text, "lockgate") == 0);
    text = realloc(text, 4096); /* a piece of the heap like any other */
    CHECK(text && strcmp(text, "lockgate") == 0);
    free(other);
    free(text);
    unsigned char *bytes = keeper_bytes(1000, 7), *none = keeper_bytes(0, 0);
    CHECK(bytes && bytes[0] == 7 && bytes[999] == 7 && none);
    free(bytes);
    free(none);
    keeper_point *points = keeper_points(3);
    CHECK(points && points[2].x == 2 && points[2].y == -2);
    free(points);
    char *why = (char *)"untouched";
    CHECK(keeper_explain(0, &why) == 0 && why == NULL);
    CHECK(keeper_explain(5, &why) == 5 && why && strcmp(why, "it went wrong") == 0);
    free(why);
    CHECK(keeper_explain(5, NULL) == 5);
    char *own = keeper_own("mine");
    int alive = keeper_alive();
    CHECK(own && strcmp(own, "mine") == 0);
    keeper_free(own);
    CHECK(keeper_alive() == alive - 1);
    CHECK(strcmp(keeper_name(), "keeper") == 0);
    /* The library's own pieces are freed, too: else its 16 MB would be full soon. */
    for (int i = 0; i < 400; i++) {
        unsigned char *large = keeper_bytes(1 << 20, i);
        if (!large || large[(1 << 20) - 1] != (unsigned char)i) {
            CHECK(!"the library's memory is full");
            free(large);
            break;
        }
        free(large);
    }
}

static void hostile(void)
{
    keeper_answer(2);
    CHECK(keeper_join("a", "b") == NULL && lg_keeper_error()->kind == LG_STUB_POINTER);
    char *why = (char *)"untouched";
    CHECK(keeper_explain(5, &why) == -1 && strcmp(why, "untouched") == 0);
    keeper_answer(3);
    CHECK(keeper_join("a", "b") == NULL);
    keeper_answer(1);
    /* Its free() may well refuse what is no piece of its heap, which ends the call; a copy that the program gets is a piece of the program's. */
    free(keeper_join("a", "b"));
    free(keeper_join("a", "b"));
}

static void filled(void)
{
    char text[16] = "..............";
    keeper_buffer buffer = {text, 12, 2};
    CHECK(keeper_fill(&buffer) == 0 && buffer.used == 5 && buffer.at == text && buffer.size == 12);
    CHECK(keeper_fill(&buffer) == 0 && buffer.used == 8);
    CHECK(strcmp(text, "..abcabc......") == 0);
    keeper_answer(4);
    CHECK(keeper_fill(&buffer) == -1 && lg_keeper_error()->kind == LG_STUB_LENGTH && buffer.used == 8);
    CHECK(strcmp(text, "..abcabc......") == 0);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "fill") == 0)
        return filled(), failures != 0;
    honest();
    hostile();
    return failures != 0;
}
