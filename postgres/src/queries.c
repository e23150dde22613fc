#include "queries.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "variable.h"

/* Most parameters of a statement. */
#define MOST_PARAMETERS 100

int64 query_run(Call *call, const char *sql, const void *parameters, size_t count, bool read_only) {
    /* Functions call queries that call functions. */
    check_stack_depth();
    if (count > MOST_PARAMETERS)
        ereport(ERROR, errcode(ERRCODE_TOO_MANY_ARGUMENTS), errmsg("lg_pg_query: %zu parameters are too many", count));
    if (!call->queries && SPI_connect() != SPI_OK_CONNECT)
        elog(ERROR, "SPI_connect failed");
    /* Triggers see their transition tables. */
    if (!call->queries && CALLED_AS_TRIGGER(call->arguments))
        SPI_register_trigger_data((TriggerData *)call->arguments->context);
    call->queries = true;
    Oid types[MOST_PARAMETERS];
    Datum values[MOST_PARAMETERS];
    char nulls[MOST_PARAMETERS];
    Span spans[MOST_PARAMETERS];
    domain_read(call->domain, spans, parameters, count * sizeof(Span));
    for (size_t i = 0; i < count; i++) {
        types[i] = TEXTOID;
        nulls[i] = spans[i].at ? ' ' : 'n';
        values[i] = spans[i].at ? take_text(NULL, &spans[i], call->domain) : (Datum)0;
    }
    if (call->rows_of_query)
        SPI_freetuptable(call->rows_of_query);
    call->rows_of_query = NULL;
    int result = SPI_execute_with_args(sql, count, types, values, nulls, read_only, 0);
    if (result < 0)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("lg_pg_query: %s", SPI_result_code_string(result)));
    call->rows_of_query = SPI_tuptable;
    return SPI_processed;
}

char *query_value(Call *call, int64 row, int column) {
    SPITupleTable *rows = call->rows_of_query;
    if (!rows || row < 0 || (uint64)row >= rows->numvals || column < 0 || column >= rows->tupdesc->natts)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
                errmsg("lg_pg_value: there is no row %lld with a column %d", (long long)row, column));
    return SPI_getvalue(rows->vals[row], rows->tupdesc, column + 1);
}

void queries_end(void) {
    SPI_finish();
}
