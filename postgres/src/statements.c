#include "postgres.h"

#include "statements.h"

#include "domains.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

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
    if (next_hook)
        next_hook(statement, text, read_only_tree, context, parameters, environment, destination, completion);
    else
        standard_ProcessUtility(statement, text, read_only_tree, context, parameters, environment, destination, completion);
    if (IsA(node, DiscardStmt) && ((DiscardStmt *)node)->target == DISCARD_ALL)
        domains_give_up();
}

void statements_init(void) {
    next_hook = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
}
