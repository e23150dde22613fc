/* lockgate_pg.h - functions of PostgreSQL in C that cannot harm it.
 *
 * A module is C that includes this header, compiled with
 *
 *     lockgate cc -g -O2 --for postgres geo.c -o geo.lg
 *
 * Each of its global functions can become a function of SQL, in the trusted language lgc
 * (docs/postgres.md):
 *
 *     double poly_area(const lg_pg_polygon *polygon) { ... }
 *
 *     CREATE FUNCTION area(polygon) RETURNS float8 LANGUAGE lgc AS 'geo.poly_area' IMMUTABLE STRICT PARALLEL SAFE;
 *
 * Types of SQL and of C, arguments and results alike:
 *
 *     boolean                          bool
 *     smallint, integer, bigint, oid   int16_t, int32_t, int64_t, uint32_t
 *     real, double precision           float, double
 *     date                             int32_t: days since 2000-01-01; INT32_MIN and INT32_MAX are the infinities
 *     time                             int64_t: microseconds since midnight
 *     timestamp, timestamptz           int64_t: microseconds since 2000-01-01 (UTC); INT64_MIN and INT64_MAX are the infinities
 *     interval, uuid                   lg_pg_interval, lg_pg_uuid
 *     text, varchar, char(n), json     lg_pg_text: the database's encoding, no zero at its end
 *     bytea                            lg_pg_bytes
 *     numeric                          const lg_pg_numeric *
 *     point, lseg, box, circle         lg_pg_point, lg_pg_lseg, lg_pg_box, lg_pg_circle
 *     path, polygon                    const lg_pg_path *, const lg_pg_polygon *
 *     type[] of bool, numbers, dates,  lg_pg_bools, lg_pg_int2s, lg_pg_int4s, lg_pg_int8s, lg_pg_float4s, lg_pg_float8s, lg_pg_points,
 *       times, uuid, points            lg_pg_uuids: one dimension, no nulls
 *     text[], varchar[]                lg_pg_texts: one dimension; a null is a text that points nowhere ({NULL, 0})
 *     void                             void
 *     a row type, trigger              const lg_pg_row *: see below; at most 64 columns
 *     record, as a result              the same
 *     lockgate.state                   lg_pg_state *: see below
 *
 * The memory that an argument points to belongs to the call: the function may read and write it
 * until it returns. A result may point anywhere: into an argument, to a constant, to lg_pg_alloc().
 * PostgreSQL copies it, and checks it: text in the right encoding, dates in range.
 *
 * A function that is not STRICT gets zeros (NULL, no bytes) where an argument is null:
 * lg_pg_is_null() tells.
 *
 * The module's memory, static data and heap, is its own in each session and for each role, and may
 * be made anew between any two calls: after a fault, DISCARD ALL, a change of the module or of a
 * limit. So keep there only what you can compute again. lg_pg_error() is not a fault: memory stays
 * as the function has left it, so free what you have allocated before you call it.
 *
 * Arguments that do not fit in registers have at most 16 words of 8 bytes: six words of numbers,
 * pointers and spans (which have two each) fit, and eight floating-point numbers.
 */
#ifndef LOCKGATE_PG_H
#define LOCKGATE_PG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lg_pg_text { const char *at; size_t size; } lg_pg_text;
typedef struct lg_pg_bytes { const void *at; size_t size; } lg_pg_bytes;
typedef struct lg_pg_uuid { unsigned char bytes[16]; } lg_pg_uuid;
typedef struct lg_pg_interval { int64_t microseconds; int32_t days; int32_t months; } lg_pg_interval;

typedef struct lg_pg_point { double x; double y; } lg_pg_point;
typedef struct lg_pg_lseg { lg_pg_point ends[2]; } lg_pg_lseg;
typedef struct lg_pg_box { lg_pg_point high; lg_pg_point low; } lg_pg_box;
typedef struct lg_pg_circle { lg_pg_point center; double radius; } lg_pg_circle;

/* In a result, `size` and `bounds` need not be filled in. */
typedef struct lg_pg_polygon { uint32_t size; int32_t count; lg_pg_box bounds; lg_pg_point points[]; } lg_pg_polygon;
typedef struct lg_pg_path { uint32_t size; int32_t count; int32_t closed; int32_t padding; lg_pg_point points[]; } lg_pg_path;

/* The sum of digits[i] * 10000^(weight - i), 0 <= digits[i] < 10000, shown with `scale` digits
 * after the point; `sign` is one of these. */
typedef struct lg_pg_numeric { uint16_t count; int16_t weight; uint16_t sign; uint16_t scale; int16_t digits[]; } lg_pg_numeric;
#define LG_PG_POSITIVE 0x0000
#define LG_PG_NEGATIVE 0x4000
#define LG_PG_NAN 0xC000
#define LG_PG_INFINITY 0xD000
#define LG_PG_MINUS_INFINITY 0xF000

typedef struct lg_pg_bools { const bool *at; size_t count; } lg_pg_bools;
typedef struct lg_pg_int2s { const int16_t *at; size_t count; } lg_pg_int2s;
typedef struct lg_pg_int4s { const int32_t *at; size_t count; } lg_pg_int4s;
typedef struct lg_pg_int8s { const int64_t *at; size_t count; } lg_pg_int8s;
typedef struct lg_pg_float4s { const float *at; size_t count; } lg_pg_float4s;
typedef struct lg_pg_float8s { const double *at; size_t count; } lg_pg_float8s;
typedef struct lg_pg_points { const lg_pg_point *at; size_t count; } lg_pg_points;
typedef struct lg_pg_texts { const lg_pg_text *at; size_t count; } lg_pg_texts;
typedef struct lg_pg_uuids { const lg_pg_uuid *at; size_t count; } lg_pg_uuids;

/* ---- Services of PostgreSQL. Each is a call out of the domain, of some nanoseconds. -------------------------------------------------------- */

/* True if the argument, counted from 0, is null. */
extern bool lg_pg_is_null(int argument);

/* Makes the result of this call null, whatever the function returns. */
extern void lg_pg_return_null(void);

/* Allocates room for a result, aligned to 16 bytes, valid until this call of the function returns.
 * If there is no room, the statement ends with an error. It costs more than a variable and less
 * than malloc; do not free it. */
extern void *lg_pg_alloc(size_t size);

/* Rows. A composite value is a structure that begins with lg_pg_row, followed by its columns in
 * their order, each as the type says above:
 *
 *     struct place { lg_pg_row row; int32_t id; lg_pg_text name; lg_pg_point at; };    // CREATE TYPE place AS (id integer, name text, at point)
 *
 * Functions take and return `const lg_pg_row *`, and cast. Bit i of `nulls` says that column i,
 * counted from 0, is null; a dropped column has only a bit. */
typedef struct lg_pg_row { uint64_t nulls; } lg_pg_row;

/* A function that RETURNS SETOF or TABLE is `void` in C, and calls this for each row:
 * `lg_pg_emit(&row, sizeof row)`. For a set of values that are not rows the structure has one
 * column. */
extern void lg_pg_emit(const void *row, size_t size);

/* Aggregates keep a state in the domain: CREATE AGGREGATE ... (SFUNC = step, STYPE =
 * lockgate.state, FINALFUNC = result), with functions
 *
 *     lg_pg_state *step(lg_pg_state *state, double value);    // NULL at first, unless it is STRICT
 *     double result(lg_pg_state *state);
 *
 * that cast it to what it is: a structure with room from lg_pg_state_alloc(), zeros at first, which
 * lives as long as the aggregate needs it. */
typedef struct lg_pg_state lg_pg_state;
extern void *lg_pg_state_alloc(size_t size);

/* Triggers: CREATE FUNCTION name() RETURNS trigger LANGUAGE lgc AS 'module.function', which is
 *
 *     const lg_pg_row *function(const lg_pg_trigger *trigger);
 *
 * Rows of the table are structures as above, without those columns that a function cannot return
 * (of types that are not listed, domains, row types): they have a bit in `nulls`, and stay as they
 * are. Rows of partitions have the columns of the partitioned table that the trigger was made for,
 * whatever the order of the partition's own columns; `schema` and `table` are the partition's. A
 * table of more than 64 columns is refused when the trigger fires. Their size is `row_size`;
 * compare it with the structure's. A BEFORE trigger returns the row to write: `trigger->new_row`,
 * changed if need be, or another one; for DELETE `old_row`. If it returns NULL, PostgreSQL leaves
 * the row alone. PostgreSQL ignores the result of an AFTER trigger, and of a trigger for
 * statements. Queries see transition tables. */
enum lg_pg_event { LG_PG_INSERT = 0, LG_PG_UPDATE = 1, LG_PG_DELETE = 2, LG_PG_TRUNCATE = 3 };
enum lg_pg_when { LG_PG_BEFORE = 0, LG_PG_AFTER = 1, LG_PG_INSTEAD = 2 };
enum lg_pg_for { LG_PG_ROW = 0, LG_PG_STATEMENT = 1 };
typedef struct lg_pg_trigger {
    lg_pg_text name, schema, table;
    lg_pg_row *old_row, *new_row; /* NULL where there is none */
    size_t row_size;
    const lg_pg_text *arguments; /* those of CREATE TRIGGER */
    int32_t argument_count;
    int32_t event, when, level;
} lg_pg_trigger;

/* Runs a statement, with the rights of the role that the function runs for. Parameters are texts,
 * `$1::integer` where another type is meant; a text that points nowhere ({NULL, 0}) is null.
 * PostgreSQL keeps the rows until the next query; they count against lockgate.memory_limit. Returns
 * how many rows came, or were changed. A statement that fails ends the function, and its own
 * statement. A function that is not VOLATILE may only read. */
extern int64_t lg_pg_query(const char *sql, const void *parameters, size_t count);

/* Stores a value of the last query's rows as text in `to`, an lg_pg_text. Row and column count from
 * 0. The text is valid until the function returns. False if the value is null. */
extern bool lg_pg_value(int64_t row, int column, void *to);

/* Ends the function, and the statement, with an error: five characters of SQLSTATE ("22023"; docs
 * of PostgreSQL, appendix A) and a message. */
extern __attribute__((noreturn)) void lg_pg_raise(const char *sqlstate, const char *message);

/* Sends a message to the client and the server's log, as their settings say. */
typedef enum lg_pg_level { LG_PG_DEBUG = 0, LG_PG_LOG = 1, LG_PG_INFO = 2, LG_PG_NOTICE = 3, LG_PG_WARNING = 4 } lg_pg_level;
extern void lg_pg_report(int level, const char *message);

/* lg_pg_raise() as printf. */
__attribute__((format(printf, 2, 3))) static inline __attribute__((noreturn)) void lg_pg_error(const char *sqlstate, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    lg_pg_raise(sqlstate, message);
}

/* lg_pg_report() as printf. */
__attribute__((format(printf, 2, 3))) static inline void lg_pg_log(lg_pg_level level, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    lg_pg_report(level, message);
}

#endif
