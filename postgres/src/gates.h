/* Functions of the server that modules can call: what lockgate_pg.h declares. */
#ifndef LOCKGATE_GATES_H
#define LOCKGATE_GATES_H

#include "postgres.h"

#include <lockgate.h>

#include "domains.h"
#include "fmgr.h"
#include "rows.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* A call in progress. */
typedef struct Call {
    struct Call *outer;
    Domain *domain;
    FunctionCallInfo arguments; /* NULL while a domain starts */
    const RowLayout *set;       /* what lg_pg_emit() makes, for functions that return sets; else NULL */
    Tuplestorestate *rows;
    MemoryContext memory;       /* what gates need until the call ends, made when the first one does */
    MemoryContext scratch;      /* and until they return */
    ErrorData *error;           /* that ends it, once it has left the domain */
    Size taken;                 /* what was held of the domain's when it began, or a gate of it */
    uint64 work;                /* CPU time when a gate began to take something; 0 where there is no limit */
    bool returns_null;
    bool is_volatile; /* may change the database */
    bool queries;     /* has made queries */
    struct QueryRows *rows_of_query;
} Call;

/* The innermost one. */
extern Call *gates_call;

/* ERROR if the module wants something of the server that it has not got. */
void gates_check(const char *name, lg_module *module);

/* The call has left the domain: what its gates needed goes. */
static inline void gates_end(Call *call) {
    if (unlikely(call->memory))
        MemoryContextDelete(call->memory);
}

/* What the call has taken of the domain until `taken` was set goes: it has become the server's, or its gate is done. */
static inline void gates_hand_over(Call *call) {
    call->domain->taken = call->taken;
}

/* Answers the module's imports. */
void gates_offer(lg_options *options, lg_module *module);

#endif
