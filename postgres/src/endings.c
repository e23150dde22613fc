#include "endings.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

char *readable(const char *words) {
    char *text = pstrdup(words);
    if (!pg_verifymbstr(text, strlen(text), true))
        for (char *at = text; *at; at++)
            if (IS_HIGHBIT_SET(*at))
                *at = '?';
    return text;
}

char *shown(const char *name) {
    int length = strlen(name), most = pg_mbcliplen(name, length, 100);
    char *text = psprintf("%.*s%s", most, name, most < length ? "..." : "");
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return text;
}

/* SQLSTATE of a failure. */
static int sqlstate(lg_status status, const lg_fault *fault) {
    switch (status) {
    case LG_E_CPU_TIME: return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    case LG_E_INTERRUPTED: return ERRCODE_QUERY_CANCELED;
    case LG_E_MEMORY: return ERRCODE_OUT_OF_MEMORY;
    case LG_E_TOO_DEEP:
    case LG_E_DEPTH: return ERRCODE_STATEMENT_TOO_COMPLEX;
    case LG_E_FAULT: break;
    default: return ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION;
    }
    switch (fault->kind) {
    case LG_FAULT_STACK_OVERFLOW:
    case LG_FAULT_CONTROL_STACK_OVERFLOW: return ERRCODE_STATEMENT_TOO_COMPLEX;
    case LG_FAULT_QUOTA: return ERRCODE_OUT_OF_MEMORY;
    case LG_FAULT_CPU_TIME: return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    case LG_FAULT_STOPPED: return ERRCODE_QUERY_CANCELED;
    default: return ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
    }
}

/* Where it happened, as far as the module's debug information says. */
static char *place(const lg_fault *fault) {
    if (!fault || !fault->function)
        return NULL;
    if (!fault->file)
        return readable(psprintf("in %s", fault->function));
    return readable(psprintf("in %s, %s:%u", fault->function, fault->file, fault->line));
}

/* Says, of an error that is to be thrown again, which function's call it has ended. */
static ErrorData *with_context(ErrorData *error, const Target *target) {
    error->context = psprintf("%s%sfunction %s of module %s", error->context ? error->context : "", error->context ? "\n" : "", target->function,
                              target->module);
    return error;
}

void ending_of_call(Call *call, const Procedure *procedure) {
    /* (A cancel comes to a function as often outside of a gate as in one: it reads the same.) */
    if (call->error) {
        bool is_plain = call->error->sqlerrcode == ERRCODE_QUERY_CANCELED && !call->error->context;
        ReThrowError(is_plain ? call->error : with_context(call->error, &procedure->target));
    }
    lg_status status = lg_last_status();
    const lg_fault *fault = lg_last_fault();
    int code = sqlstate(status, fault);
    /* The server's own words, and its own end of the session, if it was told to stop. */
    if (code == ERRCODE_QUERY_CANCELED) {
        CHECK_FOR_INTERRUPTS();
        /* It holds locks: what is to end the statement comes again when they are released. */
        ereport(ERROR, errcode(code),
                errmsg("canceling statement: function %s of module %s was stopped", procedure->target.function, procedure->target.module));
    }
    char *where = place(fault);
    /* (SQL has no way to reset a domain, as the library's own words would have it.) */
    bool is_spent = code == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    ereport(ERROR, errcode(code),
            errmsg("function %s of module %s failed: %s", procedure->target.function, procedure->target.module,
                   is_spent ? "its domain has used up its CPU time limit in this transaction" : readable(fault ? fault->reason : lg_last_message())),
            where ? errdetail("%s", where) : 0, is_spent ? errhint("lockgate.cpu_limit is the limit.") : 0);
}

void ending_of_start(Call *start, const char *module) {
    if (start->error)
        ReThrowError(start->error);
    const lg_fault *fault = lg_last_fault();
    int code = lg_last_status() == LG_E_START ? ERRCODE_EXTERNAL_ROUTINE_EXCEPTION : ERRCODE_OUT_OF_MEMORY;
    char *where = place(fault);
    CHECK_FOR_INTERRUPTS();
    ereport(ERROR, errcode(code), errmsg("module %s does not start: %s", module, readable(fault ? fault->reason : lg_last_message())),
            where ? errdetail("%s", where) : 0);
}
