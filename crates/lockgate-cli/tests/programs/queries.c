/* Opens a database file and runs queries; prints each row with | between columns. */
#include "sqlite3.h"
#include <stdio.h>

static int row(void *unused, int columns, char **values, char **names)
{
    (void)unused, (void)names;
    for (int i = 0; i < columns; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    int failed = sqlite3_open(argv[1], &db);
    for (int i = 2; i < argc && !failed; i++)
        failed = sqlite3_exec(db, argv[i], row, NULL, NULL);
    if (failed)
        printf("%s\n", sqlite3_errmsg(db));
    return sqlite3_close(db) || failed;
}
