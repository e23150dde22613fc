#include "unwritten.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct thing { long n; };

int left_load(const char *text) { return (int)strlen(text); }

#define LEFT(value) { if (leave) return -1; *v = value; return 0; }
int left_int(int leave, int *v) LEFT(1)
int left_long(int leave, long *v) LEFT(1)
int left_bool(int leave, bool *v) LEFT(true)
int left_double(int leave, double *v) LEFT(1)
int left_info(int leave, struct info *v) LEFT(((struct info){1, "one", 1}))
int left_rec(int leave, struct rec *v) LEFT(((struct rec){"one", 1, {1, 1}}))
int left_text(int leave, const char **v) LEFT("one")
int left_copy(int leave, char **v) LEFT(strdup("one"))

void left_silently(int leave, int *v)
{
    if (!leave)
        *v = 1;
}

int left_some(struct info *v)
{
    v->a = 1;
    return 0;
}

int left_infos(int leave, struct info *v, size_t n)
{
    if (!leave && n)
        v[0] = (struct info){1, "one", 1};
    return -leave;
}

static struct thing it;

int left_thing(int leave, thing **v) LEFT(&it)

thing *left_thing_or(int leave, const char **why)
{
    if (!leave)
        return &it;
    if (leave == 2)
        *why = "two";
    return 0;
}

int left_ints(int leave, int *v, size_t n)
{
    for (size_t i = 0; !leave && i < n; i++)
        v[i] = 1;
    return -leave;
}

int left_half(int *v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        v[i] = 1;
    return 0;
}

int left_count(int leave, int *v, size_t *n)
{
    if (leave)
        return -1;
    v[0] = 1;
    *n = 1;
    return 0;
}

char *left_line(int leave, char *v, int n)
{
    if (leave || n < 4)
        return 0;
    return memcpy(v, "one", 4);
}

int left_both(int leave, char *v, int n)
{
    if (leave || n < 4)
        return -1;
    memcpy(v, "one", 4);
    return 0;
}

int left_rows(int leave, char **rows, int n)
{
    for (int i = leave; i < n; i++)
        memcpy(rows[i], "one", 4);
    return 0;
}

long left_kept(struct counts *counts, int leave)
{
    if (!leave)
        counts->total++;
    return counts->total;
}

void left_kept_end(struct counts *counts) { counts->total = 0; }

int left_filled(void (*fill)(void *, char *, size_t), void *user)
{
    char room[8] = "library";
    fill(user, room, sizeof room);
    return room[0] * 256 + room[7 - 1];
}

int left_form(int (*fill)(void *, struct form *), void *user)
{
    struct form form = {{-1, -1, -1, -1}, 0, 0.5};
    int filled = fill(user, &form);
    return filled + form.map[0] + 10 * form.map[3] + (form.scale == 0.5 ? 100 : 0);
}

int left_errno(int number)
{
    if (number > 0)
        errno = number;
    return number ? -1 : 0;
}
