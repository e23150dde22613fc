/* What SQLite answers at the edges of what it is given: a program that prints it, with the library and with its client. */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const char *last_part(const char *path)
{
    return path ? strrchr(path, '/') : "null";
}

int main(void)
{
    char to[10];
    memset(to, '.', sizeof to);
    for (int n = -1; n < 3; n++)
        printf("snprintf %d: %d %02x %02x\n", n, sqlite3_snprintf(n, to, "abc") == to, to[0], to[1]);

    /* Text that ends where its bound is, and where the program's memory is. */
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE))
        return 1;
    memcpy(page + 4093, "abc", 3);
    for (int n = -1; n < 4; n++)
        printf("strnicmp %d: %d %d\n", n, sqlite3_strnicmp(page + 4093, "ABCd", n) == 0, sqlite3_strnicmp(page + 4093, "x", n) < 0);
    printf("strnicmp: %d %d\n", sqlite3_strnicmp("abc", "ABCd", 100) < 0, sqlite3_strnicmp(0, 0, 3));

    sqlite3 *db;
    printf("open %d\n", sqlite3_open_v2("file:own.db?foo=bar", &db, SQLITE_OPEN_URI | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 0));
    const char *name = sqlite3_db_filename(db, "main");
    printf("database %s\n", last_part(sqlite3_filename_database(name)));
    printf("journal %s\n", last_part(sqlite3_filename_journal(name)));
    printf("log %s\n", last_part(sqlite3_filename_wal(name)));
    printf("parameter %s\n", sqlite3_uri_parameter(name, "foo"));
    sqlite3_randomness(-1, to);
    printf("close %d\n", sqlite3_close(db));
    return 0;
}
