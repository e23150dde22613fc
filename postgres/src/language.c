/* The language lgc: its call handler and its validator. */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "domains.h"
#include "endings.h"
#include "fmgr.h"
#include "funcapi.h"
#include "gates.h"
#include "miscadmin.h"
#include "modules.h"
#include "procedure.h"
#include "queries.h"
#include "registers.h"
#include "states.h"
#include "statements.h"
#include "trigger.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(lockgate_call);
PG_FUNCTION_INFO_V1(lockgate_validate);

/* What a place in a plan keeps of the function that it calls. */
typedef struct Site {
    MemoryContext memory; /* that it is in, with what it points to */
    uint32 generation;    /* when all of it was looked up */
    Oid role;          /* and for whom */
    Domain *domain;
    lg_code code;
    Procedure *procedure;
    TriggerRows rows; /* of the trigger whose function it is */
    Layout layout;
} Site;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
    modules_init();
    domains_init();
    statements_init();
}

/* The procedure and its layout, as they are now. */
static Site *make_site(FunctionCallInfo call) {
    FmgrInfo *place = call->flinfo;
    Site *old = place->fn_extra;
    place->fn_extra = NULL;
    /* (A call in progress may be this place's own, and look at it yet.) */
    if (old && !gates_call)
        MemoryContextDelete(old->memory);
    MemoryContext memory = AllocSetContextCreate(place->fn_mcxt, "lockgate function", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(memory);
    HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(place->fn_oid));
    if (!HeapTupleIsValid(row))
        elog(ERROR, "cache lookup failed for function %u", place->fn_oid);
    Site *site = palloc0(sizeof *site);
    site->memory = memory;
    TupleDesc columns = NULL;
    if (((Form_pg_proc)GETSTRUCT(row))->prorettype == RECORDOID && get_call_result_type(call, NULL, &columns) != TYPEFUNC_COMPOSITE)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a function that returns record was called where none can be"),
                errhint("Say what columns it has: SELECT * FROM function(...) AS t (a integer, b text)."));
    site->procedure = procedure_of(row, columns);
    ReleaseSysCache(row);
    layout_make(&site->layout, site->procedure);
    MemoryContextSwitchTo(before);
    place->fn_extra = site;
    return site;
}

/* The domain; everything again if functions, row types, modules or limits have changed. */
static pg_noinline Site *prepare(FunctionCallInfo call) {
    check_stack_depth();
    Site *site = call->flinfo->fn_extra;
    /* As it is before: what is looked up now may change meanwhile. */
    uint32 generation = modules_generation;
    if (!site || site->generation != generation)
        site = make_site(call);
    if (site->procedure->has_state)
        states_check(call);
    Domain *domain = domain_for(site->procedure->target.module);
    if (site->procedure->has_state)
        states_check_kept(domain, call);
    site->code = domain_function(domain, site->procedure);
    site->domain = domain;
    site->role = GetUserId();
    site->generation = generation;
    /* What came before this session's first domain was there has interrupted nothing. */
    CHECK_FOR_INTERRUPTS();
    return site;
}

static void begin_set(Call *call, const RowLayout *layout) {
    call->set = layout;
    call->rows = rows_begin(call->arguments, layout->descriptor);
}

/* A call did not return: ERROR. */
static pg_noinline void pg_attribute_noreturn() fail(Call *call, Site *site) {
    lg_take_call_error();
    /* An error that a gate has kept ended the call in good order: what the module remembers is as it has left it, and states are, too. */
    bool in_order = call->error && lg_last_status() == LG_E_CALLBACK;
    bool is_spent = lg_last_status() == LG_E_CPU_TIME || (lg_last_fault() && lg_last_fault()->kind == LG_FAULT_CPU_TIME);
    /* A domain without CPU time stays, and refuses calls. */
    if (!is_spent && !in_order)
        domain_give_up(call->domain);
    ending_of_call(call, site->procedure);
}

/* What any call begins and ends with. */
#define CALL(place, site) {.outer = gates_call, .domain = (site)->domain, .arguments = (place), .is_volatile = (site)->procedure->is_volatile}

static inline void enter(Call *call) {
    gates_call = call;
    call->domain->calls++;
}

static inline void leave(Call *call) {
    call->domain->calls--;
    gates_call = call->outer;
    gates_end(call);
}

/* The value that was returned, checked. */
static inline Datum result_of(FunctionCallInfo place, Call *call, Site *site, uint64 *words) {
    if (unlikely(call->queries))
        queries_end();
    place->isnull = call->returns_null;
    if (unlikely(call->returns_null))
        return (Datum)0;
    const Type *type = site->layout.result;
    return likely(site->layout.is_any) ? type_take_word(type->size, words) : type_take_checked(type, words, call->domain);
}

/* The way for most functions: no sets, no triggers, and what layout_make() calls short. */
static pg_attribute_always_inline Datum call_short(FunctionCallInfo place, Site *site) {
    Domain *domain = site->domain;
    Call call = CALL(place, site);
    Mark mark = domain_begin(domain);
    Registers registers;
    layout_give_short(&site->layout, place, &registers, &domain->exchange);
    enter(&call);
    uint64 word = layout_call_short(&site->layout, site->code, &registers);
    leave(&call);
    if (unlikely(lg_failed()))
        fail(&call, site);
    Datum result = result_of(place, &call, site, &word);
    exchange_release(&domain->exchange, mark);
    return result;
}

/* What a call of any kind returns. */
static Datum take_results(FunctionCallInfo place, Call *call, Site *site, Registers *registers) {
    Datum result = result_of(place, call, site, registers->result);
    if (site->procedure->is_trigger)
        result = trigger_take(place, &site->rows, DatumGetPointer(result), call->domain);
    return result;
}

/* The same where CPU time has a limit: taking results is done for the call. */
static pg_noinline Datum take_results_in_time(FunctionCallInfo place, Call *call, Site *site, Registers *registers) {
    volatile Datum result = 0;
    uint64 begun = domain_work_begin();
    PG_TRY();
    {
        result = take_results(place, call, site, registers);
    }
    PG_FINALLY();
    {
        domain_work_end(call->domain, begun);
    }
    PG_END_TRY();
    domain_work_check(call->domain);
    return result;
}

static pg_noinline Datum call_any(FunctionCallInfo place, Site *site) {
    Domain *domain = site->domain;
    Call call = CALL(place, site);
    if (site->procedure->set)
        begin_set(&call, site->procedure->set);
    Mark mark = domain_begin(domain);
    Registers registers;
    if (site->procedure->is_trigger)
        trigger_give(place, &site->rows, site->memory, &registers, &domain->exchange);
    else
        layout_give(&site->layout, place, &registers, &domain->exchange);
    enter(&call);
    layout_call(&site->layout, site->code, &registers);
    leave(&call);
    if (unlikely(lg_failed()))
        fail(&call, site);
    call.taken = domain->taken;
    Datum result = (domain->cpu_limit ? take_results_in_time : take_results)(place, &call, site, &registers);
    gates_hand_over(&call);
    exchange_release(&domain->exchange, mark);
    return result;
}

Datum lockgate_call(PG_FUNCTION_ARGS) {
    Site *site = fcinfo->flinfo->fn_extra;
    if (unlikely(!site) || unlikely(site->generation != modules_generation) || unlikely(site->role != GetUserId()))
        site = prepare(fcinfo);
    if (unlikely(site->procedure->has_state))
        states_check_given(site->domain, site->procedure, fcinfo);
    return likely(site->layout.is_short) ? call_short(fcinfo, site) : call_any(fcinfo, site);
}

Datum lockgate_validate(PG_FUNCTION_ARGS) {
    Oid function = PG_GETARG_OID(0);
    if (!CheckFunctionValidatorAccess(fcinfo->flinfo->fn_oid, function))
        PG_RETURN_VOID();
    HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(row))
        elog(ERROR, "cache lookup failed for function %u", function);
    Procedure *procedure = procedure_of(row, NULL);
    ReleaseSysCache(row);
    Layout layout;
    layout_make(&layout, procedure);
    /* Not while a dump is restored: modules come after functions. */
    if (!check_function_bodies)
        PG_RETURN_VOID();
    const char *name = procedure->target.module;
    module_lock(name);
    ModuleHash hash;
    bool is_uncommitted;
    if (!module_find(name, &hash, &is_uncommitted))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no module %s", name),
                errhint("Install it: SELECT lockgate.install_module('%s', ...).", name));
    procedure_check(procedure, module_open(name, &hash));
    PG_RETURN_VOID();
}
