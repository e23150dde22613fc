/* The library. */
#include "abrupt.h"
#include <stdlib.h>
#include <string.h>

int abrupt_fill(unsigned char *out, bool wide)
{
    memset(out, 'x', wide ? 4096 : 4);
    return 0;
}

int abrupt_chosen(struct abrupt_choice choice) { return choice.wide + 2 * choice.all[0] + 4 * choice.all[1] + 8 * choice.n; }

int abrupt_turn(bool *wide, bool *many, int n, bool ignored)
{
    *wide = !*wide;
    for (int i = 0; i < n; i++)
        many[i] = !many[i];
    return ignored;
}

bool abrupt_any(const bool *many, int n)
{
    for (int i = 0; i < n; i++)
        if (many[i])
            return true;
    return false;
}

int abrupt_asks(abrupt_ask ask, void *user)
{
    bool all[2] = {false, true}, out[2];
    memset(out, 0xee, 2);
    return ask(user, true, all, out) + 2 * out[0] + 4 * out[1];
}

static int ends;

int abrupt_begin(struct abrupt_stream *stream)
{
    stream->begun = true;
    return 0;
}

int abrupt_step(struct abrupt_stream *stream, abrupt_tick tick, void *user)
{
    (void)stream;
    return tick(user, 1);
}

int abrupt_copy(struct abrupt_stream *to, struct abrupt_stream *from)
{
    *to = *from;
    return 0;
}

int abrupt_end(struct abrupt_stream *stream)
{
    if (stream->next_out) {
        memset(stream->next_out, 'x', stream->avail_out);
        stream->next_out += stream->avail_out;
        stream->avail_out = 0;
    }
    stream->begun = false;
    ends++;
    return 0;
}

int abrupt_end_with(struct abrupt_stream *stream, const char *why)
{
    (void)stream, (void)why;
    return ends++, 0;
}

int abrupt_ends(void) { return ends; }

struct abrupt_own {
    abrupt_tick tick;
    void *user;
    abrupt_word word;
};

static int alive;

abrupt_own *abrupt_new(void)
{
    alive++;
    return calloc(1, sizeof(abrupt_own));
}

int abrupt_alive(void) { return alive; }

int abrupt_free(abrupt_own *own)
{
    int result = 0;
    alive--;
    if (own->tick)
        own->tick(own->user, 2);
    if (own->word)
        result = own->word(42);
    free(own);
    return result;
}

int abrupt_close(abrupt_own *own, const char *why)
{
    (void)why;
    return abrupt_free(own);
}

int abrupt_hold(abrupt_own *own, abrupt_tick tick, void *user)
{
    own->tick = tick;
    own->user = user;
    return 0;
}

int abrupt_take(abrupt_own *own, abrupt_word word)
{
    own->word = word;
    return 0;
}

int abrupt_fire(abrupt_own *own) { return own->tick ? own->tick(own->user, 1) : -2; }

/* The same place each time: it is the program's memory that is to come and go. */
static char text[] = "a text that is long enough";
char *abrupt_text(void) { return text; }

static unsigned char bytes[1 << 20];

unsigned char *abrupt_bytes(size_t n)
{
    memset(bytes, 'b', sizeof bytes);
    return n <= sizeof bytes ? bytes : 0;
}

void *abrupt_grow(void *old, size_t n)
{
    (void)old;
    return abrupt_bytes(n);
}

void abrupt_give(void *memory) { (void)memory; }

int abrupt_check(void *memory, size_t n)
{
    int others = 0;
    for (size_t i = 0; i < n; i += 512) /* (most of the time goes to the copy) */
        others += ((unsigned char *)memory)[i] != 'b';
    return others;
}
