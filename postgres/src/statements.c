#include "postgres.h"

#include "statements.h"

#include "access/xact.h"
#include "domains.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "version.h"

/* ---- Which statement ---- */

/* Of the client's, counted; how many the one in progress is nested in, with those of functions; when the message came that it was in. */
static uint64 current = 1;
static int depth = 0;
static TimestampTz message = 0;

void statements_begin(void) {
    if (depth == 0)
        current++;
}

uint64 statements_current(void) {
    /* (Not all calls come from statements.) */
    if (message != GetCurrentStatementStartTimestamp()) {
        message = GetCurrentStatementStartTimestamp();
        if (depth == 0)
            current++;
    }
    return current;
}

static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;
static ExecutorFinish_hook_type next_finish = NULL;

/* What runs within is part of the statement. */
#define NESTED(work)    \
    depth++;            \
    PG_TRY();           \
    {                   \
        work;           \
    }                   \
    PG_FINALLY();       \
    {                   \
        depth--;        \
    }                   \
    PG_END_TRY()

static void on_start(QueryDesc *query, int flags) {
    statements_begin();
    NESTED((next_start ? next_start : standard_ExecutorStart)(query, flags));
}

static void on_run(QueryDesc *query, ScanDirection direction, uint64 count RUN_ONCE_DECLARED) {
    NESTED((next_run ? next_run : standard_ExecutorRun)(query, direction, count RUN_ONCE));
}

static void on_finish(QueryDesc *query) {
    NESTED((next_finish ? next_finish : standard_ExecutorFinish)(query));
}

/* ---- Statements that are no queries ---- */

static ProcessUtility_hook_type next_hook = NULL;

static DefElem *option(CreateFunctionStmt *create, const char *name) {
    ListCell *cell;
    foreach (cell, create->options) {
        DefElem *option = lfirst(cell);
        if (strcmp(option->defname, name) == 0)
            return option;
    }
    return NULL;
}

/* The two strings of `LANGUAGE lgc AS 'module', 'function'`; else NULL. */
static List *two_strings(CreateFunctionStmt *create) {
    DefElem *language = option(create, "language"), *as = option(create, "as");
    if (!language || strcmp(strVal(language->arg), "lgc") != 0 || !as)
        return NULL;
    List *strings = (List *)as->arg;
    return list_length(strings) == 2 ? strings : NULL;
}

/* As a statement with one string, because PostgreSQL takes two for language C alone. */
static PlannedStmt *with_one_string(PlannedStmt *statement, List *strings) {
    PlannedStmt *copy = copyObject(statement);
    char *both = psprintf("%s.%s", strVal(linitial(strings)), strVal(lsecond(strings)));
    option((CreateFunctionStmt *)copy->utilityStmt, "as")->arg = (Node *)list_make1(makeString(both));
    return copy;
}

static void on_utility(PlannedStmt *statement, const char *text, bool read_only_tree, ProcessUtilityContext context, ParamListInfo parameters,
                       QueryEnvironment *environment, DestReceiver *destination, QueryCompletion *completion) {
    Node *node = statement->utilityStmt;
    List *strings = IsA(node, CreateFunctionStmt) ? two_strings((CreateFunctionStmt *)node) : NULL;
    if (strings)
        statement = with_one_string(statement, strings);
    statements_begin();
    NESTED((next_hook ? next_hook : standard_ProcessUtility)(statement, text, read_only_tree, context, parameters, environment, destination, completion));
    if (IsA(node, DiscardStmt) && ((DiscardStmt *)node)->target == DISCARD_ALL)
        domains_give_up();
}

void statements_init(void) {
    next_hook = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
    next_start = ExecutorStart_hook;
    ExecutorStart_hook = on_start;
    next_run = ExecutorRun_hook;
    ExecutorRun_hook = on_run;
    next_finish = ExecutorFinish_hook;
    ExecutorFinish_hook = on_finish;
}
