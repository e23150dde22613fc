#include "queries.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parse_param.h"
#include "parser/parser.h"
#include "utils/memutils.h"
#include "variable.h"
#include "version.h"

/* Most parameters of a statement. */
#define MOST_PARAMETERS 100

/* The rows of a call's last statement. Unlike those that SPI would keep, they count: against the limit of the domain's memory. */
typedef struct QueryRows {
    DestReceiver receiver;
    MemoryContext memory;
    TupleDesc columns; /* NULL if there are none */
    HeapTuple *rows;
    uint64 count, room;
    Size size, limit; /* bytes */
} QueryRows;

/* ---- Receiving rows ---- */

static void forget(QueryRows *rows) {
    MemoryContextReset(rows->memory);
    rows->columns = NULL;
    rows->rows = NULL;
    rows->count = rows->room = rows->size = 0;
}

static void start(DestReceiver *self, int operation, TupleDesc columns) {
    QueryRows *rows = (QueryRows *)self;
    forget(rows);
    MemoryContext before = MemoryContextSwitchTo(rows->memory);
    rows->columns = CreateTupleDescCopy(columns);
    MemoryContextSwitchTo(before);
}

static void count_bytes(QueryRows *rows, Size size) {
    rows->size += size;
    if (rows->size > rows->limit)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("lg_pg_query: rows of more than %zu MB are beyond lockgate.memory_limit", rows->limit >> 20),
                errhint("Ask for fewer rows, or a part of them at a time."));
}

static bool receive(TupleTableSlot *slot, DestReceiver *self) {
    QueryRows *rows = (QueryRows *)self;
    MemoryContext before = MemoryContextSwitchTo(rows->memory);
    if (rows->count == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 64;
        count_bytes(rows, (rows->room - rows->count) * sizeof(HeapTuple));
        Size size = rows->room * sizeof(HeapTuple);
        rows->rows = rows->rows ? repalloc_huge(rows->rows, size) : palloc(size);
    }
    HeapTuple row = ExecCopySlotHeapTuple(slot);
    count_bytes(rows, HEAPTUPLESIZE + row->t_len);
    rows->rows[rows->count++] = row;
    MemoryContextSwitchTo(before);
    return true;
}

static void nothing(DestReceiver *self) {
}

static QueryRows *rows_of(Call *call) {
    if (!call->rows_of_query) {
        MemoryContext memory = AllocSetContextCreate(call->memory, "lockgate rows", ALLOCSET_DEFAULT_SIZES);
        QueryRows *rows = MemoryContextAllocZero(call->memory, sizeof *rows);
        /* (To SPI, anything but its own rows or none.) */
        rows->receiver = (DestReceiver){receive, start, nothing, nothing, DestTuplestore};
        rows->memory = memory;
        rows->limit = (Size)call->domain->memory_limit << 20;
        call->rows_of_query = rows;
    }
    return call->rows_of_query;
}

/* ---- Statements ---- */

static void set_up_parser(ParseState *state, void *parameters) {
    static const Oid texts[MOST_PARAMETERS] = {[0 ... MOST_PARAMETERS - 1] = TEXTOID};
    setup_parse_fixed_parameters(state, texts, ((ParamListInfo)parameters)->numParams);
}

/* Texts of the domain's, as the parameters of a statement; NULL for none. */
ParamListInfo query_parameters(Call *call, const void *at, size_t count) {
    Domain *domain = call->domain;
    if (count > MOST_PARAMETERS)
        ereport(ERROR, errcode(ERRCODE_TOO_MANY_ARGUMENTS), errmsg("lg_pg_query: %zu parameters are too many", count));
    if (count == 0)
        return NULL;
    Span spans[MOST_PARAMETERS];
    domain_read(domain, spans, at, count * sizeof(Span));
    ParamListInfo parameters = makeParamList((int)count);
    for (size_t i = 0; i < count; i++)
        parameters->params[i] = (ParamExternData){
            .value = spans[i].at ? take_text(NULL, &spans[i], domain) : (Datum)0,
            .isnull = !spans[i].at,
            .pflags = PARAM_FLAG_CONST,
            .ptype = TEXTOID,
        };
    parameters->parserSetup = set_up_parser;
    parameters->parserSetupArg = parameters;
    return parameters;
}

void queries_begin(Call *call) {
    /* Functions call queries that call functions. */
    check_stack_depth();
    if (call->queries)
        return;
    MemoryContext before = CurrentMemoryContext;
    if (SPI_connect() != SPI_OK_CONNECT)
        elog(ERROR, "SPI_connect failed");
    call->queries = true;
    /* Triggers see their transition tables. */
    if (CALLED_AS_TRIGGER(call->arguments))
        SPI_register_trigger_data((TriggerData *)call->arguments->context);
    MemoryContextSwitchTo(before);
}

/* The statement that does not parse is the module's, not the client's. */
static void on_parse_error(void *sql) {
    int position = geterrposition();
    if (position <= 0)
        return;
    errposition(0);
    internalerrposition(position);
    internalerrquery(sql);
}

/* The statements of a string: RawStmt. */
static List *parse(const char *sql) {
    ErrorContextCallback callback = {.previous = error_context_stack, .callback = on_parse_error, .arg = unconstify(char *, sql)};
    error_context_stack = &callback;
    List *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
    error_context_stack = callback.previous;
    return statements;
}

/* Statements run one by one, as nothing says of which of several the rows are that came. */
int64 query_run(Call *call, const char *sql, ParamListInfo parameters, bool read_only) {
    QueryRows *rows = rows_of(call);
    forget(rows);
    SPIExecuteOptions options = {
        .params = parameters,
        .read_only = read_only,
        .dest = &rows->receiver,
    };
    int64 processed = 0;
    ListCell *cell;
    foreach (cell, parse(sql)) {
        const RawStmt *statement = lfirst_node(RawStmt, cell);
        const char *at = sql + statement->stmt_location;
        forget(rows);
        int result = SPI_execute_extended(statement->stmt_len ? pnstrdup(at, statement->stmt_len) : at, &options);
        if (result < 0)
            ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("lg_pg_query: %s", SPI_result_code_string(result)));
        processed = SPI_processed;
    }
    return rows->columns ? rows->count : processed;
}

char *query_value(Call *call, int64 row, int column) {
    const QueryRows *rows = call->rows_of_query;
    if (!rows || row < 0 || (uint64)row >= rows->count || column < 0 || column >= rows->columns->natts)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
                errmsg("lg_pg_value: there is no row %lld with a column %d", (long long)row, column));
    return SPI_getvalue(rows->rows[row], rows->columns, column + 1);
}

void queries_end(void) {
    SPI_finish();
}
