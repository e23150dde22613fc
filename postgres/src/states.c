#include "states.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "exchange.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* All states of one aggregate in one domain. */
typedef struct Arena {
    struct Arena *next;
    Domain *domain; /* NULL once it is gone */
    char module[MODULE_NAME + 1]; /* whose it was, and the role's */
    Oid role;
    MemoryContext of; /* the aggregate's */
    Exchange memory;
    MemoryContextCallback end;
} Arena;

static Arena *arenas = NULL;

PG_FUNCTION_INFO_V1(lockgate_state_in);
PG_FUNCTION_INFO_V1(lockgate_state_out);

static const char *role_name(Oid role) {
    const char *name = GetUserNameFromId(role, true);
    return name ? name : "that is no more";
}

/* The aggregate's memory goes. Nothing of the domain runs: this may be the end of a transaction that failed. */
static void on_end(void *of) {
    for (Arena **at = &arenas; *at; at = &(*at)->next) {
        Arena *arena = *at;
        if (arena != of)
            continue;
        *at = arena->next;
        exchange_free(&arena->memory);
        pfree(arena);
        return;
    }
}

void states_forget(Domain *domain) {
    for (Arena *arena = arenas; arena; arena = arena->next)
        if (arena->domain == domain)
            arena->domain = NULL;
}

bool states_of(const Domain *domain) {
    for (Arena *arena = arenas; arena; arena = arena->next)
        if (arena->domain == domain)
            return true;
    return false;
}

void states_check(FunctionCallInfo call) {
    if (!call->context || !IsA(call->context, AggState) || ((AggState *)call->context)->aggsplit == AGGSPLIT_SIMPLE)
        return;
    ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("aggregates over lockgate.state cannot be computed in parts"),
            errdetail("A state is an address in one process."), errhint("Leave COMBINEFUNC out of CREATE AGGREGATE."));
}

void states_check_kept(const Domain *domain, FunctionCallInfo call) {
    MemoryContext of;
    if (!AggCheckCallContext(call, &of))
        return;
    for (Arena *arena = arenas; arena; arena = arena->next)
        if (arena->of == of && arena->domain != domain && arena->role == domain->role && strcmp(arena->module, domain->module) == 0)
            ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the states of this aggregate are lost: module %s crashed meanwhile", domain->module),
                    errdetail("They were in the memory of its domain, which was given up."));
}

static bool has(const Arena *arena, uint64 address) {
    for (int i = 0; i < arena->memory.count; i++) {
        const Chunk *chunk = &arena->memory.chunks[i];
        if (address - (uint64)(uintptr_t)chunk->at < chunk->size)
            return true;
    }
    return false;
}

/* ERROR: which of the things that can have become of it. */
static pg_noinline void pg_attribute_noreturn() lost(const Domain *domain, uint64 state, MemoryContext of) {
    for (Arena *arena = arenas; of && arena; arena = arena->next)
        if (arena->of == of && arena->domain && arena->role != domain->role && has(arena, state))
            ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("an aggregate over lockgate.state was begun for role %s and cannot go on for role %s", role_name(arena->role),
                           role_name(domain->role)),
                    errdetail("Its state is in the domain that module %s has for the former.", domain->module),
                    errhint("Fetch from a cursor as the role that opened it."));
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("this state is lost: it is not of the aggregate that is being computed"),
            errdetail("A value of lockgate.state means something only to the functions of its own aggregate, while that is computed."),
            errhint("Give the aggregate a FINALFUNC that makes a value of it."));
}

void states_check_given(const Domain *domain, const Procedure *procedure, FunctionCallInfo call) {
    for (int i = 0; i < procedure->count; i++) {
        if (procedure->arguments[i] != &type_state || call->args[i].isnull || call->args[i].value == 0)
            continue;
        uint64 state = call->args[i].value;
        MemoryContext of = NULL;
        const Arena *arena = i == 0 && AggCheckCallContext(call, &of) ? arenas : NULL;
        while (arena && !(arena->of == of && arena->domain == domain && has(arena, state)))
            arena = arena->next;
        if (!arena)
            lost(domain, state, of);
    }
}

static Arena *arena_of(Domain *domain, MemoryContext of) {
    for (Arena *arena = arenas; arena; arena = arena->next)
        if (arena->domain == domain && arena->of == of)
            return arena;
    Arena *arena = MemoryContextAllocZero(TopMemoryContext, sizeof *arena);
    arena->next = arenas;
    arena->domain = domain;
    strlcpy(arena->module, domain->module, sizeof arena->module);
    arena->role = domain->role;
    arena->of = of;
    arena->memory.domain = domain->handle;
    arena->end = (MemoryContextCallback){on_end, arena, NULL};
    arenas = arena;
    MemoryContextRegisterResetCallback(of, &arena->end);
    return arena;
}

void *state_room(Domain *domain, FunctionCallInfo call, Size size) {
    MemoryContext of;
    if (!AggCheckCallContext(call, &of))
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("lg_pg_state_alloc: this call is not an aggregate's"));
    states_check(call);
    Size used = 0, limit = (Size)domain->memory_limit << 20;
    for (Arena *arena = arenas; arena; arena = arena->next)
        if (arena->domain == domain)
            used += exchange_size(&arena->memory);
    if (size > limit || used > limit - size)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("lg_pg_state_alloc: %zu bytes more are beyond lockgate.memory_limit, %d MB", size, domain->memory_limit));
    return memset(exchange_room(&arena_of(domain, of)->memory, size), 0, size);
}

Oid state_oid(void) {
    Oid namespace = get_namespace_oid("lockgate", true);
    if (!OidIsValid(namespace))
        return InvalidOid;
    HeapTuple row = SearchSysCache2(TYPENAMENSP, CStringGetDatum("state"), ObjectIdGetDatum(namespace));
    if (!HeapTupleIsValid(row))
        return InvalidOid;
    /* Who owns the schema may have put another in its place; but only superusers make types like this. */
    Form_pg_type type = (Form_pg_type)GETSTRUCT(row);
    Oid oid = type->typtype == TYPTYPE_BASE && type->typbyval && type->typlen == sizeof(uint64) ? type->oid : InvalidOid;
    ReleaseSysCache(row);
    return oid;
}

/* Any role can have values of this type in a table, so that there are words for them, or dumps of the database would fail: the same for all, which
 * mean a null pointer when they are read. */
#define ANY_STATE "(state)"

Datum lockgate_state_in(PG_FUNCTION_ARGS) {
    if (strcmp(PG_GETARG_CSTRING(0), ANY_STATE) != 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("cannot accept a value of type lockgate.state"),
                errdetail("A state is an address in the memory of an aggregate that is being computed; \"%s\" is one that is lost.", ANY_STATE));
    PG_RETURN_INT64(0);
}

Datum lockgate_state_out(PG_FUNCTION_ARGS) {
    PG_RETURN_CSTRING(pstrdup(ANY_STATE));
}
