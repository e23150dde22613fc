/* Rows, sets, aggregates. */
#include <lockgate_pg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct place {
    lg_pg_row row;
    int32_t id;
    lg_pg_text name;
    lg_pg_point at;
    bool open;
};

lg_pg_text describe(const lg_pg_row *row) {
    const struct place *place = (const struct place *)row;
    char *text = lg_pg_alloc(256);
    int length = snprintf(text, 256, "%d %.*s (%g,%g) %d nulls %llx", place->id, (int)place->name.size, place->name.at, place->at.x, place->at.y,
                          place->open, (unsigned long long)row->nulls);
    return (lg_pg_text){text, length};
}

const lg_pg_row *moved(const lg_pg_row *row, double x) {
    static struct place place;
    place = *(const struct place *)row;
    place.at.x += x;
    place.row.nulls &= ~4ul;
    return &place.row;
}

const lg_pg_row *nowhere(int64_t at) { return (const lg_pg_row *)at; }

void series(int32_t from, int32_t to) {
    struct { lg_pg_row row; int32_t value; } one = {{0}};
    for (one.value = from; one.value <= to; one.value++) {
        one.row.nulls = one.value % 5 == 0;
        lg_pg_emit(&one, sizeof one);
    }
}

/* Words with their places. */
void words(lg_pg_text text) {
    struct { lg_pg_row row; int32_t at; lg_pg_text word; } one = {{0}};
    for (size_t i = 0, begin = 0; i <= text.size; i++)
        if (i == text.size || text.at[i] == ' ') {
            one.at = begin;
            one.word = (lg_pg_text){text.at + begin, i - begin};
            if (i > begin)
                lg_pg_emit(&one, sizeof one);
            begin = i + 1;
        }
}

void places(int32_t count) {
    static const char *const names[] = {"here", "there", "grün"};
    for (int32_t i = 0; i < count; i++) {
        const char *name = names[i % 3];
        struct place place = {{i == 1 ? 8 : 0}, i, {name, strlen(name)}, {i, -i}, i % 2};
        lg_pg_emit(&place, sizeof place);
    }
}

void bad_rows(int32_t which) {
    struct { lg_pg_row row; int32_t at; lg_pg_text word; } one = {{0}, 1, {"\xff", 1}};
    switch (which) {
    case 0: lg_pg_emit(&one, sizeof one); break;
    case 1: lg_pg_emit(&one, sizeof one - 1); break;
    case 2: lg_pg_emit((void *)8, sizeof one); break;
    case 3: one.word.at = (const char *)8; lg_pg_emit(&one, sizeof one); break;
    case 4: one.word.at = "fine"; one.word.size = 4; lg_pg_emit(&one, sizeof one); lg_pg_error("22023", "after a row"); break;
    case 5: one.word.at = "fine"; one.word.size = 4; lg_pg_emit(&one, sizeof one); abort();
    case 6: one.word.size = 0; for (;;) lg_pg_emit(&one, sizeof one);
    }
}

int32_t emits_nowhere(int32_t x) {
    lg_pg_emit(&x, sizeof x);
    return x;
}

/* Standard deviation, by Welford's method. */
struct deviation { int64_t count; double mean, squares; };

lg_pg_state *deviation_step(lg_pg_state *state, double value) {
    struct deviation *of = (struct deviation *)state;
    if (!of)
        of = lg_pg_state_alloc(sizeof *of);
    double distance = value - of->mean;
    of->mean += distance / ++of->count;
    of->squares += distance * (value - of->mean);
    return (lg_pg_state *)of;
}

double deviation_result(lg_pg_state *state) {
    struct deviation *of = (struct deviation *)state;
    if (!of || of->count < 2)
        lg_pg_return_null();
    return of && of->count > 1 ? sqrt(of->squares / (of->count - 1)) : 0;
}

/* The longest text, in a state that grows. */
struct longest { size_t size, room; char *text; };

lg_pg_state *longest_step(lg_pg_state *state, lg_pg_text value) {
    struct longest *of = (struct longest *)state;
    if (!of)
        of = lg_pg_state_alloc(sizeof *of);
    if (value.size > of->room) {
        of->room = 2 * value.size;
        of->text = lg_pg_state_alloc(of->room);
    }
    if (value.size > of->size) {
        of->size = value.size;
        memcpy(of->text, value.at, value.size);
    }
    return (lg_pg_state *)of;
}

lg_pg_text longest_result(lg_pg_state *state) {
    struct longest *of = (struct longest *)state;
    return of ? (lg_pg_text){of->text, of->size} : (lg_pg_text){"", 0};
}

lg_pg_state *stray_step(lg_pg_state *state, double value) { return (lg_pg_state *)(uintptr_t)value; }
double stray_result(lg_pg_state *state) { return *(volatile double *)state; }
lg_pg_state *greedy_step(lg_pg_state *state, double value) { return lg_pg_state_alloc(1 << 20); }
double no_result(lg_pg_state *state) { return state != 0; }
lg_pg_state *both(lg_pg_state *one, lg_pg_state *other) { return one ? one : other; }
int32_t state_outside(int32_t x) { return lg_pg_state_alloc(x) != 0; }

/* A row type that is changed under them. */
struct changing { lg_pg_row row; int64_t number; lg_pg_text word; };
lg_pg_text changing_word(const lg_pg_row *row) { return ((const struct changing *)row)->word; }
const lg_pg_row *changing(int64_t number) {
    static struct changing changing = {{0}, 0, {"word", 4}};
    changing.number = number;
    return &changing.row;
}

const lg_pg_row *changes_it(int64_t number) {
    lg_pg_query("ALTER TYPE changing ADD ATTRIBUTE more text", NULL, 0);
    return changing(number);
}

void series_of_changing(int64_t count) {
    for (int64_t i = 0; i < count; i++)
        lg_pg_emit(changing(i), sizeof(struct changing));
}

/* Shut, whatever lies behind it. */
const lg_pg_row *shut(const lg_pg_row *row) {
    static struct place place;
    place = *(const struct place *)row;
    memset(&place.open, 0xff, sizeof place - __builtin_offsetof(struct place, open));
    place.open = false;
    return &place.row;
}
