/* SQLite, in memory: inserts in transactions, an index, joins, aggregates, updates, sorting, text functions. */
#include "bench.h"
#include <sqlite3.h>

static void check(sqlite3 *db, int code, const char *what)
{
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
        exit(1);
    }
}

static void exec(sqlite3 *db, const char *sql)
{
    check(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

/* Hash of every column of every row. */
static uint64_t query(sqlite3 *db, uint64_t hash, const char *sql)
{
    sqlite3_stmt *statement;
    int code;
    check(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL), sql);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *text = (const char *)sqlite3_column_text(statement, i);
            if (text)
                hash = bench_hash(hash, text, strlen(text));
        }
    check(db, code, sql);
    sqlite3_finalize(statement);
    return hash;
}

int main(int argc, char **argv)
{
    enum { ITEMS = 4000 };
    uint32_t scale = bench_scale(argc, argv);
    uint64_t hash = BENCH_HASH_START, state = 11;
    for (uint32_t round = 0; round < scale; round++) {
        sqlite3 *db;
        sqlite3_stmt *insert;
        check(NULL, sqlite3_open(":memory:", &db), "open");
        exec(db, "CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER, price REAL, name TEXT);"
                 "CREATE TABLE sale(item INTEGER, day INTEGER, count INTEGER);");
        exec(db, "BEGIN");
        check(db, sqlite3_prepare_v2(db, "INSERT INTO item VALUES(?,?,?,?)", -1, &insert, NULL), "prepare item");
        for (int i = 0; i < ITEMS; i++) {
            char name[32];
            snprintf(name, sizeof name, "item %u", (unsigned)(bench_random(&state) % 100000));
            sqlite3_bind_int(insert, 1, i);
            sqlite3_bind_int(insert, 2, (int)(bench_random(&state) % 37));
            sqlite3_bind_double(insert, 3, (double)(bench_random(&state) % 10000) / 64.0);
            sqlite3_bind_text(insert, 4, name, -1, SQLITE_TRANSIENT);
            check(db, sqlite3_step(insert), "insert item");
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
        check(db, sqlite3_prepare_v2(db, "INSERT INTO sale VALUES(?,?,?)", -1, &insert, NULL), "prepare sale");
        for (int i = 0; i < 3 * ITEMS; i++) {
            sqlite3_bind_int(insert, 1, (int)(bench_random(&state) % ITEMS));
            sqlite3_bind_int(insert, 2, (int)(bench_random(&state) % 365));
            sqlite3_bind_int(insert, 3, (int)(bench_random(&state) % 9));
            check(db, sqlite3_step(insert), "insert sale");
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
        exec(db, "COMMIT");
        exec(db, "CREATE INDEX sale_item ON sale(item)");
        hash = query(db, hash, "SELECT kind, count(*), sum(price), min(name), max(name) FROM item GROUP BY kind");
        hash = query(db, hash, "SELECT i.kind, sum(s.count * i.price) FROM item i JOIN sale s ON s.item = i.id "
                               "WHERE s.day BETWEEN 50 AND 250 GROUP BY i.kind ORDER BY 2 DESC");
        hash = query(db, hash, "SELECT name, price FROM item WHERE name LIKE '%7%3%' ORDER BY price, id LIMIT 200");
        exec(db, "UPDATE item SET price = price * 1.25 WHERE kind % 3 = 0;"
                 "DELETE FROM sale WHERE count = 0");
        hash = query(db, hash, "SELECT day, sum(count), avg(length(name)) FROM sale JOIN item ON item = id "
                               "GROUP BY day HAVING sum(count) > 20 ORDER BY day");
        hash = query(db, hash, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) "
                               "SELECT sum(x * x), group_concat(CASE WHEN x % 500 = 0 THEN hex(x) END) FROM n");
        exec(db, "PRAGMA integrity_check");
        sqlite3_close(db);
    }
    return bench_finish("sqlite", hash);
}
