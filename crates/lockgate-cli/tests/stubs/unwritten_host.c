/* What it prints is the same with the library itself, and with the one in a domain. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwritten.h>

static void load(void)
{
    static char text[4000];
    memset(text, 'S', sizeof text - 1);
    left_load(text);
}

static void fill(void *user, char *room, size_t n)
{
    (void)user, (void)n;
    room[0] = 'p';
}

static int fill_form(void *user, struct form *form)
{
    (void)user;
    printf("form %d %g\n", form->map[3], form->scale);
    form->map[0] = 7;
    return 1;
}

int main(void)
{
    for (int leave = 1; leave >= 0; leave--) {
        int i = 30, silent = 30, n, js[3] = {7, 8, 9};
        long l = 30;
        bool b = true;
        double d = 30;
        struct info info = {30, "thirty", 30}, some = info, infos[2] = {info, info};
        const char *s = "thirty";
        char *copy = 0;
        struct rec rec = {"thirty", 30, {30, 31}};
        thing *t = 0;
        load(), n = left_int(leave, &i), printf("int %d %d\n", n, i);
        load(), n = left_long(leave, &l), printf("long %d %ld\n", n, l);
        load(), n = left_bool(leave, &b), printf("bool %d %d\n", n, b);
        load(), n = left_double(leave, &d), printf("double %d %g\n", n, d);
        load(), left_silently(leave, &silent), printf("silently %d\n", silent);
        load(), n = left_info(leave, &info), printf("info %d %d %s %g\n", n, info.a, info.name, info.d);
        load(), n = left_some(&some), printf("some %d %d %s %g\n", n, some.a, some.name, some.d);
        load(), n = left_infos(leave, infos, 2), printf("infos %d %s %s %g\n", n, infos[0].name, infos[1].name, infos[1].d);
        load(), n = left_text(leave, &s), printf("text %d %s\n", n, s);
        load(), n = left_copy(leave, &copy), printf("copy %d %s\n", n, copy ? copy : "(none)");
        free(copy);
        load(), n = left_rec(leave, &rec), printf("rec %d %s %d %ld\n", n, rec.s, rec.n, rec.more[1]);
        load(), n = left_thing(leave, &t), printf("thing %d %d\n", n, t != 0);
        const char *why = "thirty";
        t = left_thing_or(leave, &why), printf("why %d %s\n", t != 0, leave ? why : "");
        t = left_thing_or(2, &why), printf("why %d %s\n", t != 0, why);
        size_t count = 3;
        load(), n = left_count(leave, js, &count), printf("count %d %zu %d %d %d\n", n, count, js[0], js[1], js[2]);
        int is[3] = {7, 8, 9}, half[3] = {7, 8, 9};
        load(), n = left_ints(leave, is, 3), printf("ints %d %d %d %d\n", n, is[0], is[1], is[2]);
        load(), n = left_half(half, 3), printf("half %d %d %d %d\n", n, half[0], half[1], half[2]);
        char line[8] = "thirty", both[8] = "thirty", full[4] = {'f', 'u', 'l', 'l'};
        load(), printf("line %d %s\n", left_line(leave, line, sizeof line) != 0, line);
        load(), n = left_both(leave, both, sizeof both), printf("both %d %s\n", n, both);
        /* (Without an end, and left alone.) */
        load(), n = left_both(leave, full, sizeof full), printf("full %d %.4s\n", n, full);
        char one[4] = "1st", two[4] = "2nd", *rows[] = {one, two};
        load(), n = left_rows(leave, rows, 2), printf("rows %d %s %s\n", n, one, two);
        struct counts counts = {5, 0, 0};
        printf("kept %ld", left_kept(&counts, leave));
        counts.total += 10;
        printf(" %ld", left_kept(&counts, leave));
        printf(" %ld\n", counts.total);
        left_kept_end(&counts);
    }
    printf("filled %d\n", left_filled(fill, 0));
    printf("form %d\n", left_form(fill_form, 0));
    int first = left_errno(ENOENT);
    printf("errno %d %d", first, errno == ENOENT);
    errno = 0;
    first = left_errno(-1);
    printf(" %d %d", first, errno);
    errno = 0;
    first = left_errno(0);
    printf(" %d %d\n", first, errno);
    return 0;
}
