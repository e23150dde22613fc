/* Domains: one for each module and each role that calls it, made at the first call of a session. */
#ifndef LOCKGATE_DOMAINS_H
#define LOCKGATE_DOMAINS_H

#include "postgres.h"

#include <lockgate.h>

#include "exchange.h"
#include "modules.h"
#include "procedure.h"

typedef struct Domain {
    struct Domain *next;
    char module[MODULE_NAME + 1];
    Oid role;
    ModuleHash hash;
    int memory_limit, cpu_limit; /* that it was made with */
    int calls;                   /* in progress */
    uint64 used;                 /* when it was last looked up: a number that grows */
    uint64 statement;            /* and by which of the client's statements */
    bool is_uncommitted;         /* its module was installed by the transaction in progress */
    bool given_up;
    Size taken;                  /* bytes that calls in progress have copied out of it, and hold */
    uint64 charged;              /* CPU time that its account has, nanoseconds */
    lg_domain *handle;
    uint64 base;
    Exchange exchange;
    struct Bound *bound; /* functions */
} Domain;

/* Defines lockgate.memory_limit and lockgate.cpu_limit; for _PG_init. */
void domains_init(void);

/* The domain of a module for the current role, as both are now. ERROR if there is no such module, or it does not start. */
Domain *domain_for(const char *module);

/* The procedure's function in the domain, as code that can be called as long as the domain is the current one. */
lg_code domain_function(Domain *domain, const Procedure *procedure);

/* Copies out of the domain, what is small; ERROR if it has nothing there. */
void domain_read(Domain *domain, void *to, const void *from, Size size);

/* The same of what a module says the size of: behind a header, in the current memory context. ERROR if calls in progress hold more of such than the
 * limit of the domain's memory and what they were given. */
void *domain_take(Domain *domain, Size header, const void *from, Size size);

/* What the server does with results counts as the module's, where there is a CPU time limit: from the one to the other, which may be an error's
 * end, too. ERROR from the third if there is no time left. */
uint64 domain_work_begin(void);
void domain_work_end(Domain *domain, uint64 begun);
void domain_work_check(Domain *domain);

/* A call is prepared: what it takes of the exchange is given back afterwards, or, should its arguments or result be refused, when the next call
 * begins that is not nested in another. */
static inline Mark domain_begin(Domain *domain) {
    Exchange *exchange = &domain->exchange;
    if (likely(domain->calls == 0)) {
        exchange_reset(exchange);
        domain->taken = 0;
    }
    return exchange_mark(exchange);
}

/* Gives the domain up, as its memory may be damaged: the next call gets a new one. */
void domain_give_up(Domain *domain);

/* Gives up the idle domain that was not used for longest; false if there is none: those with calls in progress or states of aggregates stay. */
bool domains_give_up_idle(void);

/* All of them. */
void domains_give_up(void);

#endif
