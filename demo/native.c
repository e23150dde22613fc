/* The demo's yardstick: the same SQLite, built natively, runs the same queries and prints every row. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static int print_row(void *unused, int count, char **values, char **names)
{
    (void)unused, (void)names;
    for (int i = 0; i < count; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    static char sql[1 << 16];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || !fread(sql, 1, sizeof sql - 1, file)) {
        fprintf(stderr, "usage: native queries.sql\n");
        return 2;
    }
    sqlite3 *db;
    char *message = NULL;
    if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, sql, print_row, NULL, &message)) {
        fprintf(stderr, "%s\n", message ? message : sqlite3_errmsg(db));
        return 1;
    }
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, "SELECT id, rise * 2, canal FROM lock WHERE built = ?1 ORDER BY id", -1, &statement, NULL))
        return 1;
    sqlite3_bind_int64(statement, 1, 1777);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        double rise = sqlite3_column_double(statement, 1);
        unsigned long bits;
        memcpy(&bits, &rise, sizeof bits);
        printf("%lld|%#lx|%s\n", (long long)sqlite3_column_int64(statement, 0), bits,
               (const char *)sqlite3_column_text(statement, 2));
    }
    sqlite3_finalize(statement);
    return sqlite3_close(db);
}
