/* Functions of triggers on: CREATE TABLE items (id integer, gone text, name varchar(8), price numeric(6,2), place inet, stamp timestamptz). */
#include <lockgate_pg.h>

#include <stdlib.h>
#include <string.h>

struct item {
    lg_pg_row row;
    int32_t id;
    lg_pg_text name;
    const lg_pg_numeric *price;
    int64_t stamp;
};

static lg_pg_text text(const char *string) { return (lg_pg_text){string, strlen(string)}; }

/* Says what it was called for. */
const lg_pg_row *tell(const lg_pg_trigger *trigger) {
    static const char *const events[] = {"INSERT", "UPDATE", "DELETE", "TRUNCATE"}, *const times[] = {"BEFORE", "AFTER", "INSTEAD OF"};
    const struct item *old = (const struct item *)trigger->old_row, *new = (const struct item *)trigger->new_row;
    char arguments[64] = "";
    for (int32_t i = 0; i < trigger->argument_count; i++)
        snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments), "[%.*s]", (int)trigger->arguments[i].size,
                 trigger->arguments[i].at);
    lg_pg_log(LG_PG_NOTICE, "%.*s: %s %s on %.*s.%.*s for each %s %s old %d new %d", (int)trigger->name.size, trigger->name.at,
              times[trigger->when], events[trigger->event], (int)trigger->schema.size, trigger->schema.at, (int)trigger->table.size,
              trigger->table.at, trigger->level == LG_PG_ROW ? "row" : "statement", arguments, old ? old->id : -1, new ? new->id : -1);
    return trigger->new_row ? trigger->new_row : trigger->old_row;
}

/* Changes the row: the id doubled, a name where there is none; odd ids are not written. */
const lg_pg_row *change(const lg_pg_trigger *trigger) {
    struct item *new = (struct item *)trigger->new_row;
    if (trigger->row_size != sizeof *new)
        lg_pg_error("42804", "rows of %zu bytes, not %zu", trigger->row_size, sizeof *new);
    if (new->id % 2)
        return NULL;
    new->id *= 2;
    if (new->row.nulls >> 2 & 1) {
        new->name = trigger->argument_count ? trigger->arguments[0] : text("nameless");
        new->row.nulls &= ~4ul;
    }
    return &new->row;
}

/* Rows deleted are kept elsewhere, by queries; those with a negative id stay. */
const lg_pg_row *archive(const lg_pg_trigger *trigger) {
    const struct item *old = (const struct item *)trigger->old_row;
    char id[16];
    snprintf(id, sizeof id, "%d", old->id);
    lg_pg_text values[] = {text(id), old->row.nulls >> 2 & 1 ? (lg_pg_text){0, 0} : old->name};
    lg_pg_query("INSERT INTO archive VALUES ($1::integer, $2)", values, 2);
    return old->id < 0 ? NULL : &old->row;
}

/* How many rows a statement has changed, from its transition table. */
const lg_pg_row *count_new(const lg_pg_trigger *trigger) {
    lg_pg_text value;
    lg_pg_query("SELECT count(*), sum(id) FROM fresh", NULL, 0);
    if (lg_pg_value(0, 1, &value))
        lg_pg_log(LG_PG_NOTICE, "ids sum up to %.*s", (int)value.size, value.at);
    return NULL;
}

/* Rows that may not be. */
const lg_pg_row *bad(const lg_pg_trigger *trigger) {
    struct item *new = (struct item *)trigger->new_row;
    switch (new->id) {
    case 0: return (const lg_pg_row *)8;
    case 1: new->row.nulls &= ~4ul; new->name = text("far too long"); break;
    case 2: new->row.nulls &= ~4ul; new->name = text("\xff"); break;
    case 3: new->row.nulls &= ~4ul; new->name = (lg_pg_text){(const char *)8, 100}; break;
    case 4: abort();
    case 5: lg_pg_error("23514", "no row with id %d", new->id);
    case 6: new->row.nulls = ~0ul; break;
    case 7: new->row.nulls &= ~32ul; new->stamp = INT64_MAX - 1; break;
    case 8: lg_pg_is_null(0); break;
    }
    return &new->row;
}

struct account {
    lg_pg_row row;
    int32_t id;
    lg_pg_text note, secret, added;
};

/* On: CREATE TABLE accounts (id integer, note text, secret text): secrets are masked. With arguments it says what it sees, of an account or of a partition
 * (note text, id integer, secret text), and changes nothing. */
const lg_pg_row *mask(const lg_pg_trigger *trigger) {
    struct account *row = (struct account *)(trigger->new_row ? trigger->new_row : trigger->old_row);
    if (trigger->argument_count) {
        struct { lg_pg_row row; lg_pg_text note; int32_t id; lg_pg_text secret; } *part = (void *)row;
        if (trigger->old_row)
            lg_pg_log(LG_PG_NOTICE, "%d %.*s %.*s %.*s", row->id, (int)row->note.size, row->note.at, (int)row->secret.size, row->secret.at,
                      (int)row->added.size, row->added.at);
        else
            lg_pg_log(LG_PG_NOTICE, "%.*s %d %.*s", (int)part->note.size, part->note.at, part->id, (int)part->secret.size, part->secret.at);
        return &row->row;
    }
    row->secret = text("***");
    if (row->row.nulls & 2) {
        row->note = text("nameless");
        row->row.nulls &= ~2ul;
    }
    return &row->row;
}
