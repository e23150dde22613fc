/* Queries from within. */
#include <lockgate_pg.h>

#include <stdlib.h>
#include <string.h>

static lg_pg_text text(const char *string) { return (lg_pg_text){string, strlen(string)}; }

/* The first value of a query without parameters. */
lg_pg_text ask(lg_pg_text sql) {
    char statement[1024];
    snprintf(statement, sizeof statement, "%.*s", (int)sql.size, sql.at);
    lg_pg_text value = {"", 0};
    if (lg_pg_query(statement, NULL, 0) == 0 || !lg_pg_value(0, 0, &value))
        lg_pg_return_null();
    return value;
}

/* How many rows it says that there are. */
int64_t rows_of(lg_pg_text sql) {
    char statement[1024];
    snprintf(statement, sizeof statement, "%.*s", (int)sql.size, sql.at);
    return lg_pg_query(statement, NULL, 0);
}

int64_t total(int32_t least) {
    char number[16];
    snprintf(number, sizeof number, "%d", least);
    lg_pg_text parameters[] = {text(number), {NULL, 0}};
    int64_t rows = lg_pg_query("SELECT i FROM numbers WHERE i >= $1::integer AND $2 IS NULL", parameters, 2), sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        lg_pg_text value;
        lg_pg_value(row, 0, &value);
        char copy[16] = {0};
        memcpy(copy, value.at, value.size < 15 ? value.size : 15);
        sum += atoi(copy);
    }
    return sum;
}

int64_t add(int32_t number) {
    char decimal[16];
    snprintf(decimal, sizeof decimal, "%d", number);
    lg_pg_text parameter = text(decimal);
    return lg_pg_query("INSERT INTO numbers VALUES ($1::integer)", &parameter, 1);
}

int32_t misuse(int32_t which) {
    lg_pg_text value;
    switch (which) {
    case 0: lg_pg_query((const char *)8, NULL, 0); break;
    case 1: lg_pg_query("SELECT $1", (const void *)8, 1); break;
    case 2: lg_pg_query("SELECT 1", NULL, 1000000); break;
    case 3: lg_pg_value(0, 0, &value); break;
    case 4: lg_pg_query("SELECT 1", NULL, 0); lg_pg_value(1, 0, &value); break;
    case 5: lg_pg_query("SELECT 1", NULL, 0); lg_pg_value(0, 1, &value); break;
    case 6: lg_pg_query("SELECT 1", NULL, 0); lg_pg_value(0, 0, (void *)8); break;
    case 7: lg_pg_query("COMMIT", NULL, 0); break;
    case 8: lg_pg_query("SELECT 'a", NULL, 0); break;
    case 9: lg_pg_query("SELECT 1/0", NULL, 0); break;
    case 10: lg_pg_query("SELECT 1", NULL, 0); abort();
    case 11: lg_pg_query("COPY numbers TO '/tmp/stolen'", NULL, 0); break;
    case 12: lg_pg_query("\xff", NULL, 0); break;
    case 13: value = (lg_pg_text){"\xff", 1}; lg_pg_query("SELECT $1", &value, 1); break;
    }
    return which;
}
