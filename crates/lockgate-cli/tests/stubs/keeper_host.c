/* A program that frees what a library gave it to keep, as it does with the library itself; under AddressSanitizer, which knows each piece. */
#include <keeper.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Whatever address it answers with, nothing is copied over what is the program's. */
static void apart(char *own, size_t size)
{
    memset(own, 0x55, size);
    for (int distance = -40; distance < (int)size + 8; distance++) {
        const char *word = keeper_say(distance);
        CHECK(word && strcmp(word, "a word of the library's") == 0);
        for (size_t i = 0; i < size; i++)
            if (own[i] != 0x55) {
                CHECK(!"an answer lies over memory of the program's");
                return;
            }
        CHECK(word + 24 <= own || word >= own + size);
        /* (Overlapping, this would not end.) */
        strcpy(own, word);
        memset(own, 0x55, size);
    }
}

static int fill(void *user, char *out, int size)
{
    ++*(int *)user;
    apart(out, (size_t)size);
    memset(out, 1, (size_t)size);
    return 0;
}

static void *alloc(void *unused)
{
    (void)unused;
    return keeper_alloc(32);
}

static void *say(void *distance) { return (void *)(uintptr_t)keeper_say(*(int *)distance); }

/* What a thread was given stays as it was when it has ended. */
static void threads_that_ended(void)
{
    pthread_t thread;
    void *first = 0, *other;
    char *own = keeper_alloc(32);
    for (int distance = 0; distance > -20; distance--) {
        CHECK(pthread_create(&thread, 0, say, &distance) == 0 && pthread_join(thread, distance ? &other : &first) == 0);
        CHECK(first && strcmp(first, "a word of the library's") == 0);
    }
    keeper_take(own);
}

static void *give_back(void *memory)
{
    keeper_free(memory);
    return 0;
}

/* An address that another thread has from long ago may be that of a piece which was given to this one just now: until this has copied it, it stays. */
static void given_back_by_others(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        char *own = keeper_own("a text that is long enough");
        CHECK(pthread_create(&thread, 0, give_back, own) == 0 && pthread_join(thread, 0) == 0);
        CHECK(strcmp(own, "a text that is long enough") == 0);
        keeper_free(own);
        CHECK_ERROR(LG_STUB_POINTER, "memory");
        /* So does a call of this thread that comes before the next step of a binding. */
        union {
            char bytes[1024];
            max_align_t aligned;
        } aside;
        own = keeper_own("a text that is long enough");
        lg_keeper_aside((struct lg_stub_aside *)&aside);
        keeper_free(own);
        lg_keeper_back((struct lg_stub_aside *)&aside);
        CHECK(strcmp(own, "a text that is long enough") == 0);
    }
}

static void owned(void)
{
    int calls = 0;
    char *own = keeper_alloc(32), *other;
    CHECK(own);
    apart(own, 32);
    strcpy(own, "own");
    own = keeper_resize(own, 64);
    CHECK(own && strncmp(own, "own", 4) == 0);
    apart(own, 64);
    /* It says that there is more than there is: nothing else of the program's goes in, or is written to. */
    keeper_answer(5);
    CHECK(keeper_room(own) == 64);
    strcpy(own, "own");
    other = keeper_resize(own, 64);
    CHECK(other && strncmp(other, "own", 4) == 0);
    /* Where it says that it has not, the program still has its own. */
    keeper_answer(3);
    strcpy(other, "own");
    CHECK(keeper_resize(other, 64) == NULL && strcmp(other, "own") == 0);
    keeper_answer(0);
    keeper_take(other);
    keeper_take(other);
    CHECK_ERROR(LG_STUB_POINTER, "memory");
    pthread_t thread;
    void *of_other;
    CHECK(pthread_create(&thread, 0, alloc, 0) == 0 && pthread_join(thread, &of_other) == 0);
    apart(of_other, 32);
    keeper_take(of_other);
    other = keeper_lend(64);
    CHECK(other && keeper_sum(64) == 0);
    other = keeper_lend(64);
    memset(other, 1, 64);
    CHECK(keeper_sum(64) == 64);
    apart(other, 64);
    CHECK(keeper_ask(fill, &calls) == 64 && calls == 1);
}

/* Nobody writes to a place of the library's: the program's pages there are not for that. */
static void placed(void)
{
    void *own = keeper_alloc(32);
    char *place = (char *)(uintptr_t)keeper_place();
    CHECK(own && place && *place == 0);
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)place = 1;
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0));
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
    if (count > 1 && strcmp(arguments[1], "owned") == 0)
        return owned(), given_back_by_others(), threads_that_ended(), placed(), failures != 0;
    honest();
    hostile();
    return failures != 0;
}
