#include "domains.h"

#include <limits.h>
#include <time.h>

#include "access/xact.h"
#include "endings.h"
#include "gates.h"
#include "interrupts.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "statements.h"
#include "states.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "version.h"

/* A function of a domain, bound. */
typedef struct Bound {
    struct Bound *next;
    char *prototype;
    lg_function *function;
} Bound;

static Domain *domains = NULL;
/* Given up while calls were in progress. */
static Domain *leftovers = NULL;

/* Mebibytes; milliseconds, 0 for no limit. */
static int memory_limit, cpu_limit;
/* What a window has room for. */
#define MOST_MEMORY 2048

/* ---- CPU time ---- */

/* What the domains of one module have used for one role in this transaction, and are no more: the next one gets what is left. */
typedef struct Account {
    struct Account *next;
    char module[MODULE_NAME + 1];
    Oid role;
    uint64 spent; /* nanoseconds */
} Account;

static Account *accounts = NULL;

static Account *account_of(const char *module, Oid role) {
    for (Account *one = accounts; one; one = one->next)
        if (one->role == role && strcmp(one->module, module) == 0)
            return one;
    return NULL;
}

static Account *account_for(const Domain *domain) {
    Account *account = account_of(domain->module, domain->role);
    if (!account) {
        account = MemoryContextAllocZero(TopTransactionContext, sizeof *account);
        strlcpy(account->module, domain->module, sizeof account->module);
        account->role = domain->role;
        account->next = accounts;
        accounts = account;
    }
    return account;
}

/* What a domain has used since this was last asked goes to its account. */
static void charge(Domain *domain) {
    lg_usage usage;
    if (!domain->cpu_limit || lg_domain_usage(domain->handle, &usage, sizeof usage) != LG_OK || usage.cpu_time_ns <= domain->charged)
        return;
    account_for(domain)->spent += usage.cpu_time_ns - domain->charged;
    domain->charged = usage.cpu_time_ns;
}

static void pg_attribute_noreturn() no_time_left(const char *module) {
    ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
            errmsg("module %s has used up its CPU time limit in this transaction", module), errhint("lockgate.cpu_limit is the limit."));
}

/* The milliseconds that a new domain may use; ERROR if there are none. */
static int cpu_time_left(const char *module, Oid role) {
    Account *account = account_of(module, role);
    uint64 spent = account ? account->spent / 1000000 : 0;
    if (spent >= (uint64)cpu_limit)
        no_time_left(module);
    return cpu_limit - (int)spent;
}

uint64 domain_work_begin(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64)now.tv_sec * 1000000000 + now.tv_nsec;
}

void domain_work_end(Domain *domain, uint64 begun) {
    if (domain->cpu_limit)
        account_for(domain)->spent += domain_work_begin() - begun;
}

/* ---- The end of domains ---- */

static void end(Domain *domain) {
    charge(domain);
    while (domain->bound) {
        Bound *bound = domain->bound;
        domain->bound = bound->next;
        lg_function_free(bound->function);
        pfree(bound->prototype);
        pfree(bound);
    }
    states_forget(domain);
    exchange_free(&domain->exchange);
    lg_domain_close(domain->handle);
    ReleaseExternalFD();
    pfree(domain);
}

void domain_give_up(Domain *domain) {
    if (domain->given_up)
        return;
    domain->given_up = true;
    charge(domain);
    for (Domain **at = &domains; *at; at = &(*at)->next)
        if (*at == domain) {
            *at = domain->next;
            break;
        }
    /* Code that has made something of it looks again. */
    modules_generation++;
    if (domain->calls == 0) {
        end(domain);
    } else {
        domain->next = leftovers;
        leftovers = domain;
    }
}

static void end_leftovers(void) {
    for (Domain **at = &leftovers; *at;) {
        Domain *domain = *at;
        if (domain->calls == 0) {
            *at = domain->next;
            end(domain);
        } else {
            at = &domain->next;
        }
    }
}

void domains_give_up(void) {
    while (domains)
        domain_give_up(domains);
}

void domain_work_check(Domain *domain) {
    charge(domain);
    Account *account = account_of(domain->module, domain->role);
    if (!domain->cpu_limit || !account || account->spent / 1000000 < (uint64)domain->cpu_limit)
        return;
    /* (The next one gets what is left: nothing.) */
    char *module = pstrdup(domain->module);
    domain_give_up(domain);
    no_time_left(module);
}

/* What was installed is undone: a domain that was made of it is no statement's any more, and its module must be the table's to be used on. */
static void forget_uncommitted(void) {
    for (Domain *domain = domains; domain; domain = domain->next)
        if (domain->is_uncommitted)
            domain->statement = 0;
    modules_generation++;
}

static void at_end_of_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *unused) {
    if (event == SUBXACT_EVENT_ABORT_SUB)
        forget_uncommitted();
}

/* CPU time is counted for a transaction: a domain with a limit ends with it. */
static void at_end_of_transaction(XactEvent event, void *unused) {
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
        forget_uncommitted();
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
        for (Domain *domain = domains; domain; domain = domain->next)
            domain->is_uncommitted = false;
    if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE && event != XACT_EVENT_PARALLEL_COMMIT &&
        event != XACT_EVENT_PARALLEL_ABORT)
        return;
    for (Domain *domain = domains, *next; domain; domain = next) {
        next = domain->next;
        if (domain->cpu_limit)
            domain_give_up(domain);
    }
    /* (Those whose calls are in progress outlive the transaction in no way that matters: they are not charged any more.) */
    for (Domain *domain = leftovers; domain; domain = domain->next)
        domain->cpu_limit = 0;
    accounts = NULL;
}

/* ---- Limits ---- */

static void on_limit(int value, void *unused) {
    modules_generation++;
}

/* Plans that were made without a limit may be parallel. */
static void on_cpu_limit(int value, void *unused) {
    modules_generation++;
    if (!value != !cpu_limit)
        ResetPlanCache();
}

static planner_hook_type next_planner = NULL;

/* Each parallel worker is a process, which has begun with nothing used, and ends with the statement: what they use is not added up. So statements under
 * a CPU time limit have none. */
static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters) {
    if (cpu_limit)
        options &= ~CURSOR_OPT_PARALLEL_OK;
    statements_begin();
    return (next_planner ? next_planner : standard_planner)(query, text, options, parameters);
}

void domains_init(void) {
    DefineCustomIntVariable("lockgate.memory_limit", "Memory that a module may have in each session and for each role.", NULL, &memory_limit, 64, 1,
                            MOST_MEMORY, PGC_SUSET, GUC_UNIT_MB, NULL, on_limit, NULL);
    DefineCustomIntVariable("lockgate.cpu_limit", "CPU time that functions of one module may use in a transaction; 0 for no limit.", NULL,
                            &cpu_limit, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, on_cpu_limit, NULL);
    MarkGUCPrefixReserved("lockgate");
    RegisterXactCallback(at_end_of_transaction, NULL);
    RegisterSubXactCallback(at_end_of_subtransaction, NULL);
    next_planner = planner_hook;
    planner_hook = plan;
}

/* ---- Making domains ---- */

/* Whether the domain is used on. One whose module has been replaced is so by the client's statement (statements.h) that has used it already: its rows are not one
 * module's and then another's. And states of aggregates keep theirs, which a new domain would take for its own:
 * with the limits that it was made with, or not at all. */
static bool is_current(const Domain *domain, const ModuleHash *hash) {
    bool has_limits = domain->memory_limit == memory_limit && domain->cpu_limit == cpu_limit;
    if (states_of(domain)) {
        if (!has_limits)
            ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("limits have been changed while module %s has aggregates over lockgate.state under way", domain->module),
                    errhint("Close its cursors, or set the limits back."));
        return true;
    }
    if (!has_limits)
        return false;
    return memcmp(&domain->hash, hash, sizeof *hash) == 0 || domain->statement == statements_current();
}

/* Options of a new domain. Errors of setters show when it is made. */
static lg_options *options_for(const char *name, lg_module *module, int cpu_time) {
    lg_options *options = lg_options_new();
    lg_options_name(options, name);
    lg_options_memory_limit(options, (uint64)memory_limit << 20);
    if (cpu_time)
        lg_options_cpu_limit(options, cpu_time);
    lg_options_thread_limit(options, 1);
    interrupts_stop(options);
    gates_offer(options, module);
    return options;
}

/* Most domains of a session: what one needs of descriptors, mappings and memory, the server needs, too. */
#define MOST_DOMAINS 64

/* Counts how often domains were looked up. */
static uint64 uses = 0;

/* What modules remember is a cache. But not the domain that was looked up last, which is about to be called. */
bool domains_give_up_idle(void) {
    Domain *oldest = NULL;
    for (Domain *domain = domains; domain; domain = domain->next)
        if (domain->calls == 0 && domain->used != uses && !states_of(domain) && (!oldest || domain->used < oldest->used))
            oldest = domain;
    if (oldest)
        domain_give_up(oldest);
    return oldest != NULL;
}

static void make_room(void) {
    int count = 0;
    for (Domain *domain = leftovers; domain; domain = domain->next)
        count++;
    for (Domain *domain = domains; domain; domain = domain->next)
        count++;
    if (count >= MOST_DOMAINS && !domains_give_up_idle())
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a session has at most %d modules in use at once", MOST_DOMAINS),
                errhint("Cursors with aggregates over lockgate.state keep theirs until they are closed."));
}

static Domain *make(const char *name, Oid role, const ModuleHash *hash) {
    int cpu_time = cpu_limit ? cpu_time_left(name, role) : 0;
    make_room();
    lg_module *module = module_open(name, hash);
    interrupts_listen();
    /* It keeps the file of its module open. */
    modules_take_descriptor(module);
    lg_options *options = options_for(name, module, cpu_time);
    /* What its constructors ask for concerns no call, least of all one that is in progress in another domain. */
    Call start = {.outer = gates_call};
    gates_call = &start;
    lg_domain *handle = lg_domain_new(module, options);
    gates_call = start.outer;
    gates_end(&start);
    lg_options_free(options);
    if (!handle) {
        ReleaseExternalFD();
        ending_of_start(&start, name);
    }
    Domain *domain = MemoryContextAllocZero(TopMemoryContext, sizeof *domain);
    strlcpy(domain->module, name, sizeof domain->module);
    domain->role = role;
    domain->hash = *hash;
    domain->memory_limit = memory_limit;
    domain->cpu_limit = cpu_limit;
    domain->handle = handle;
    domain->base = lg_domain_base(handle);
    domain->exchange.domain = handle;
    domain->next = domains;
    domains = domain;
    return domain;
}

Domain *domain_for(const char *module) {
    end_leftovers();
    ModuleHash hash;
    bool is_uncommitted;
    if (!module_find(module, &hash, &is_uncommitted))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no module %s", module),
                errhint("Install it: SELECT lockgate.install_module('%s', ...).", module));
    Oid role = GetUserId();
    Domain *domain = domains;
    while (domain && !(domain->role == role && strcmp(domain->module, module) == 0))
        domain = domain->next;
    if (domain && !is_current(domain, &hash)) {
        domain_give_up(domain);
        domain = NULL;
    }
    if (!domain)
        domain = make(module, role, &hash);
    domain->used = ++uses;
    domain->statement = statements_current();
    domain->is_uncommitted |= is_uncommitted;
    /* Libraries that the server has loaded meanwhile, as PL/Perl is, install handlers that domains' faults must not come to. This is for once in a
       statement. */
    if (lg_claim_signals() != LG_OK)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION), errmsg("module %s cannot be called", module), errdetail("%s", lg_last_message()));
    exchange_begin(&domain->exchange);
    return domain;
}

lg_code domain_function(Domain *domain, const Procedure *procedure) {
    for (Bound *bound = domain->bound; bound; bound = bound->next)
        if (strcmp(bound->prototype, procedure->prototype) == 0)
            return lg_function_pointer(bound->function);
    procedure_check(procedure, module_open(domain->module, &domain->hash));
    lg_function *function = lg_bind(domain->handle, procedure->prototype, LG_DEFAULT);
    if (!function)
        ereport(ERROR, errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                errmsg("function %s of module %s cannot be called", procedure->target.function, procedure->target.module),
                errdetail("%s", readable(lg_last_message())));
    Bound *bound = MemoryContextAlloc(TopMemoryContext, sizeof *bound);
    *bound = (Bound){domain->bound, MemoryContextStrdup(TopMemoryContext, procedure->prototype), function};
    domain->bound = bound;
    return lg_function_pointer(function);
}

/* ---- In use ---- */

/* What the server's allocator needs for a piece, bytes. */
#define PIECE 16

void *domain_take(Domain *domain, Size header, const void *from, Size size) {
    CHECK_FOR_INTERRUPTS();
    /* (A result may point into arguments, whatever their size.) */
    Size limit = ((Size)domain->memory_limit << 20) + exchange_size(&domain->exchange), piece = header + size + PIECE;
    if (piece > limit || domain->taken > limit - piece)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("what a function of module %s returns or passes on is larger than lockgate.memory_limit, %d MB, and its arguments", domain->module,
                       domain->memory_limit));
    domain->taken += piece;
    char *taken = palloc(header + size);
    domain_read(domain, taken + header, from, size);
    return taken;
}

void domain_read(Domain *domain, void *to, const void *from, Size size) {
    uint64 offset = (uint32)(uintptr_t)from;
    /* As the module itself would read there: no address leads out of its window. */
    if (offset + size <= (uint64)1 << 32 && lg_memory_copy(to, (const void *)(domain->base + offset), size) == 0)
        return;
    if (lg_memory_read(domain->handle, to, from, size) != LG_OK)
        ereport(ERROR, errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
                errmsg("a function of module %s returned a pointer that leads nowhere", domain->module), errdetail("%s", lg_last_message()));
}
