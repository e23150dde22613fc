/* What goes in and comes back, and what a library forgets. */
#include <lockgate/annotations.h>
#include <stddef.h>

LG_DOMAIN("given");
LG_ERRORS(int, -1);

/* It works in place, and says how much of that is of use: half of it. */
int given_inplace(char *bytes LG_INOUT LG_SIZE(*n), size_t *n LG_INOUT);
/* It says that there is more than the program has. */
int given_more(char *bytes LG_INOUT LG_SIZE(*n), size_t *n LG_INOUT);
struct given_piece {
    char *bytes;
    size_t n;
};
LG_FIELD(struct given_piece, bytes, LG_INOUT LG_SIZE(n));
int given_piece(struct given_piece *piece LG_INOUT);

/* A line, with more behind its first zero; without an end if `ends` is 0. */
int given_line(char *to LG_INOUT LG_STRING LG_SIZE(room), int room, int ends);

/* How many of the first `n` characters are there: text need not end before. */
int given_begins(const char *text LG_STRING LG_SIZE(n), int n);

struct given;
typedef void (*given_heard)(void *user, int n);
struct given *given_new(void);
void given_free(struct given *g LG_RELEASE);
void given_user(struct given *g, void *user LG_DATA LG_SHOWN(g));
void given_itself(struct given *g LG_DATA);
void given_on(struct given *g, given_heard heard);
int given_say(struct given *g, int n);
/* It does so with what it had before. */
int given_say_old(struct given *g, int n);
int given_reset(struct given *g LG_RESET, int really);
