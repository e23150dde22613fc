/* The library of given.h. */
#include "given.h"
#include <stdlib.h>
#include <string.h>

int given_inplace(char *bytes, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        bytes[i]++;
    *n /= 2;
    return 0;
}

int given_more(char *bytes, size_t *n)
{
    bytes[0] = '!';
    ++*n;
    return 0;
}

int given_piece(struct given_piece *piece)
{
    return given_inplace(piece->bytes, &piece->n);
}

int given_line(char *to, int room, int ends)
{
    memset(to, 'x', (size_t)room);
    if (ends)
        to[2] = 0;
    return 0;
}

int given_begins(const char *text, int n)
{
    return (int)strnlen(text, (size_t)n);
}

struct given {
    void *user, *argument, *old;
    given_heard heard;
};

struct given *given_new(void)
{
    return calloc(1, sizeof(struct given));
}

void given_free(struct given *g)
{
    free(g);
}

void given_user(struct given *g, void *user)
{
    g->argument = g->argument == g->user ? user : g->argument;
    g->user = user;
}

void given_itself(struct given *g)
{
    g->argument = g;
}

void given_on(struct given *g, given_heard heard)
{
    g->heard = heard;
}

int given_say(struct given *g, int n)
{
    g->heard(g->argument, n);
    return 0;
}

int given_say_old(struct given *g, int n)
{
    g->heard(g->old, n);
    return 0;
}

int given_reset(struct given *g, int really)
{
    if (!really)
        return -1;
    g->old = g->user;
    g->user = g->argument = 0;
    return 0;
}
