#include "gates.h"

#include "endings.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "queries.h"
#include "states.h"
#include "utils/elog.h"
#include "utils/memutils.h"

/* Longest message, bytes, with its zero. */
#define MESSAGE 8192
/* And statement. */
#define STATEMENT 65536

Call *gates_call = NULL;

/* An ERROR may not jump over the domain that has called: it is kept, the domain's call ended, and the error thrown again outside. */
#define GATE_BEGIN                                          \
    MemoryContext gate_context = CurrentMemoryContext;      \
    PG_TRY();                                               \
    {
#define GATE_END                                            \
    }                                                       \
    PG_CATCH();                                             \
    {                                                       \
        keep_error(gate_context);                           \
    }                                                       \
    PG_END_TRY()

/* As GATE_BEGIN, for gates that allocate: whatever they do goes when they return, however often a function calls them. */
#define ALLOCATING_GATE_BEGIN \
    GATE_BEGIN                \
    enter_scratch();
#define ALLOCATING_GATE_END   \
    leave_scratch(gate_context); \
    GATE_END

static void enter_scratch(void) {
    Call *call = gates_call;
    if (!call)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("a module asks for something outside of a call"));
    if (!call->memory)
        call->memory = AllocSetContextCreate(CurrentMemoryContext, "lockgate call", ALLOCSET_SMALL_SIZES);
    if (!call->scratch)
        call->scratch = AllocSetContextCreate(call->memory, "lockgate gate", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(call->scratch);
}

/* The server's work on what it takes of the domain counts as the module's. */
static void begin_taking(void) {
    gates_call->taken = gates_call->domain->taken;
    gates_call->work = gates_call->domain->cpu_limit ? domain_work_begin() : 0;
}

static void end_work(Call *call) {
    if (!call->work)
        return;
    domain_work_end(call->domain, call->work);
    call->work = 0;
}

static void end_taking(void) {
    end_work(gates_call);
    domain_work_check(gates_call->domain);
}

static void leave_scratch(MemoryContext before) {
    MemoryContextSwitchTo(before);
    MemoryContextReset(gates_call->scratch);
}

static void keep_error(MemoryContext context) {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    if (gates_call) {
        end_work(gates_call);
        gates_call->error = error;
    }
    lg_end_call("an error of the server's");
}

/* A string of the module's, cut if need be, with what is no text in the database's encoding replaced. */
static char *read_message(const char *from) {
    char *text = palloc(MESSAGE);
    size_t length;
    if (lg_memory_read_string(LG_CALLER, text, MESSAGE, from, &length) != LG_OK) {
        if (lg_last_status() != LG_E_UNTERMINATED || lg_memory_read(LG_CALLER, text, from, MESSAGE - 1) != LG_OK)
            ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("a message of a module cannot be read"));
        text[pg_mbcliplen(text, MESSAGE - 1, MESSAGE - 1)] = '\0';
    }
    return readable(text);
}

/* A statement of SQL: all of it, or none. */
static char *read_statement(const char *from) {
    char *text = palloc(STATEMENT);
    size_t length;
    if (lg_memory_read_string(LG_CALLER, text, STATEMENT, from, &length) != LG_OK)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("lg_pg_query: %s", lg_last_message()));
    pg_verifymbstr(text, length, false);
    return text;
}

static FunctionCallInfo arguments(void) {
    if (!gates_call || !gates_call->arguments)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("a module asks for arguments outside of a call"));
    return gates_call->arguments;
}

static bool is_null(int argument) {
    bool null = false;
    GATE_BEGIN
    FunctionCallInfo call = arguments();
    if (argument < 0 || argument >= call->nargs)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
                errmsg("lg_pg_is_null: there is no argument %d", argument));
    null = call->args[argument].isnull;
    GATE_END;
    return null;
}

static void return_null(void) {
    GATE_BEGIN
    arguments();
    gates_call->returns_null = true;
    GATE_END;
}

/* Room in the exchange. What a module asks for counts, unlike what it is given. */
static void *room(const char *gate, Size size) {
    arguments();
    Exchange *exchange = &gates_call->domain->exchange;
    Size limit = (Size)gates_call->domain->memory_limit << 20;
    if (size > limit || exchange_size(exchange) > limit - size)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("%s: %zu bytes more are beyond lockgate.memory_limit, %d MB", gate, size, gates_call->domain->memory_limit));
    return exchange_room(exchange, size);
}

static void *alloc(size_t size) {
    void *allocated = NULL;
    GATE_BEGIN
    allocated = room("lg_pg_alloc", size);
    GATE_END;
    return allocated;
}

/* Where the server calls functions while it holds locks of its own, as an index does, a query may wait for what this very session holds. */
static void check_no_locks(void) {
    if (InterruptHoldoffCount > 0 || CritSectionCount > 0)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("lg_pg_query: the server calls this function while it holds locks, where queries cannot be"));
}

static int64 query(const char *sql, const void *parameters, size_t count) {
    int64 rows = 0;
    GATE_BEGIN
    arguments();
    check_no_locks();
    queries_begin(gates_call);
    enter_scratch();
    char *statement = read_statement(sql);
    begin_taking();
    ParamListInfo taken = query_parameters(gates_call, parameters, count);
    end_taking();
    Size before = gates_call->taken;
    rows = query_run(gates_call, statement, taken, !gates_call->is_volatile);
    gates_call->domain->taken = before;
    ALLOCATING_GATE_END;
    return rows;
}

static bool value(int64 row, int column, void *to) {
    bool is_there = false;
    ALLOCATING_GATE_BEGIN
    arguments();
    char *text = query_value(gates_call, row, column);
    struct { const void *at; uint64 size; } span = {NULL, text ? strlen(text) : 0};
    if (text)
        span.at = memcpy(room("lg_pg_value", span.size), text, span.size);
    if (lg_memory_write(LG_CALLER, to, &span, sizeof span) != LG_OK)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("lg_pg_value: %s", lg_last_message()));
    is_there = text != NULL;
    ALLOCATING_GATE_END;
    return is_there;
}

static void *state_alloc(size_t size) {
    void *state = NULL;
    GATE_BEGIN
    state = state_room(gates_call->domain, arguments(), size);
    GATE_END;
    return state;
}

static void emit(const void *row, size_t size) {
    ALLOCATING_GATE_BEGIN
    arguments();
    const RowLayout *layout = gates_call->set;
    if (!layout)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("lg_pg_emit: the function returns no set"));
    if (size != layout->size)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
                errmsg("lg_pg_emit: a row of this function has %zu bytes, not %zu", layout->size, size),
                errhint("It begins with lg_pg_row, then come the columns in their order, with the types that lockgate_pg.h lists."));
    Datum values[MOST_COLUMNS];
    bool nulls[MOST_COLUMNS];
    begin_taking();
    row_take(layout, row, gates_call->domain, values, nulls);
    tuplestore_putvalues(gates_call->rows, layout->descriptor, values, nulls);
    gates_hand_over(gates_call);
    end_taking();
    ALLOCATING_GATE_END;
}

/* Classes 00 (success), 01 (warning) and 02 (no data) are no errors. */
static bool is_error(const char *state) {
    if (strlen(state) != 5)
        return false;
    for (int i = 0; i < 5; i++)
        if (!(state[i] >= '0' && state[i] <= '9') && !(state[i] >= 'A' && state[i] <= 'Z'))
            return false;
    return state[0] != '0' || state[1] > '2';
}

static void raise_error(const char *sqlstate, const char *message) {
    ALLOCATING_GATE_BEGIN
    char state[6];
    size_t length;
    bool is_state = lg_memory_read_string(LG_CALLER, state, sizeof state, sqlstate, &length) == LG_OK && is_error(state);
    int code = is_state ? MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]) : ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
    ereport(ERROR, errcode(code), errmsg("%s", read_message(message)));
    ALLOCATING_GATE_END;
}

static void report(int level, const char *message) {
    static const int levels[] = {DEBUG1, LOG, INFO, NOTICE, WARNING};
    ALLOCATING_GATE_BEGIN
    int elevel = level >= 0 && level < lengthof(levels) ? levels[level] : NOTICE;
    ereport(elevel, errmsg("%s", read_message(message)));
    ALLOCATING_GATE_END;
}

static const struct {
    const char *name;
    const char *prototype;
    lg_code function;
} gates[] = {
    {"lg_pg_is_null", "_Bool lg_pg_is_null(int)", (lg_code)is_null},
    {"lg_pg_return_null", "void lg_pg_return_null(void)", (lg_code)return_null},
    {"lg_pg_alloc", "void *lg_pg_alloc(size_t)", (lg_code)alloc},
    {"lg_pg_state_alloc", "void *lg_pg_state_alloc(size_t)", (lg_code)state_alloc},
    {"lg_pg_emit", "void lg_pg_emit(const void *, size_t)", (lg_code)emit},
    {"lg_pg_query", "int64_t lg_pg_query(const char *, const void *, size_t)", (lg_code)query},
    {"lg_pg_value", "_Bool lg_pg_value(int64_t, int, void *)", (lg_code)value},
    {"lg_pg_raise", "void lg_pg_raise(const char *, const char *)", (lg_code)raise_error},
    {"lg_pg_report", "void lg_pg_report(int, const char *)", (lg_code)report},
};

static int gate_of(const char *import) {
    for (int i = 0; i < lengthof(gates); i++)
        if (strcmp(gates[i].name, import) == 0)
            return i;
    return -1;
}

void gates_check(const char *name, lg_module *module) {
    size_t count = lg_module_import_count(module);
    for (size_t i = 0; i < count; i++) {
        const char *import = lg_module_import_name(module, i);
        int gate = gate_of(import);
        if (gate < 0)
            ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("module %s needs %s, which the server does not offer", name, readable(import)),
                    errhint("lockgate_pg.h declares what there is."));
    }
}

void gates_offer(lg_options *options, lg_module *module) {
    size_t count = lg_module_import_count(module);
    for (size_t i = 0; i < count; i++) {
        int gate = gate_of(lg_module_import_name(module, i));
        if (gate >= 0)
            lg_options_gate(options, gates[gate].prototype, gates[gate].function, NULL);
    }
}
