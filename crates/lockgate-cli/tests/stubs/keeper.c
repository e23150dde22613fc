/* The library of keeper.h: honest, or hostile in one way. */
#include "keeper.h"
#include <stdlib.h>
#include <string.h>

static int alive, how;
static struct { size_t before[8]; char text[64]; size_t behind[8]; } false_piece;

static char *piece(size_t size)
{
    char *made = malloc(size ? size : 1);
    if (made)
        memset(made, 0, size);
    alive++;
    return made;
}

/* 1: a place within a static array, with what a heap has around its pieces: an attack on whoever frees it. */
static char *answer(char *honest)
{
    switch (how) {
    case 1:
        for (int i = 0; i < 8; i++)
            false_piece.before[i] = false_piece.behind[i] = 0x51;
        strcpy(false_piece.text, "false");
        return false_piece.text;
    case 2: return (char *)~0xfffUL;
    case 3: return 0;
    default: return honest;
    }
}

char *keeper_join(const char *a, const char *b)
{
    char *made = piece(strlen(a) + strlen(b) + 1);
    return answer(strcat(strcpy(made, a), b));
}

unsigned char *keeper_bytes(size_t size, int fill)
{
    char *made = piece(size);
    return (unsigned char *)answer(memset(made, fill, size));
}

keeper_point *keeper_points(int n)
{
    keeper_point *made = (keeper_point *)piece((size_t)n * sizeof *made);
    for (int i = 0; i < n; i++)
        made[i] = (keeper_point){i, -i};
    return (keeper_point *)answer((char *)made);
}

int keeper_explain(int code, char **text)
{
    if (!code)
        return 0;
    if (text)
        *text = answer(strcpy(piece(32), "it went wrong"));
    return code;
}

char *keeper_own(const char *text) { return strcpy(piece(strlen(text) + 1), text); }

/* The last memory that it gave, and what is around it. */
static char *last;

void *keeper_alloc(size_t size)
{
    last = (char *)piece(size + 128) + 64;
    return last;
}

void keeper_take(void *memory) { keeper_free((char *)memory - 64); }

void *keeper_resize(void *memory, size_t size)
{
    char *new = keeper_alloc(size);
    memcpy(new, memory, 4);
    keeper_take(memory);
    return how == 3 ? 0 : new;
}

size_t keeper_room(void *memory) { return memory && how == 5 ? 1 << 30 : 32; }

char *keeper_lend(size_t size)
{
    static char room[256];
    last = room + 64;
    memset(last, 0, size);
    return last;
}

int keeper_sum(size_t size)
{
    int sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += last[i];
    return sum;
}

int keeper_ask(int (*fill)(void *, char *, int), void *user)
{
    char *out = keeper_lend(64);
    return fill(user, out, 64) == 0 ? keeper_sum(64) : -1;
}

const char *keeper_say(int distance)
{
    return strcpy(last + distance, "a word of the library's");
}

const void *keeper_place(void) { return last; }

void keeper_free(void *memory)
{
    alive -= memory != 0;
    free(memory);
}

char *keeper_name(void)
{
    static char name[] = "keeper";
    return name;
}

/* Uses three bytes more, and writes over all that come behind. 4: says that it has used more than there is. */
int keeper_fill(keeper_buffer *buffer)
{
    memset(buffer->at + buffer->used, '#', buffer->size - buffer->used);
    memcpy(buffer->at + buffer->used, "abc", 3);
    buffer->used = how == 4 ? buffer->size + 1 : buffer->used + 3;
    return 0;
}

int keeper_alive(void) { return alive; }

void keeper_answer(int next) { how = next; }
