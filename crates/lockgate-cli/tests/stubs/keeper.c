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
