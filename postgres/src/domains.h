/* Domains: one for each module and each role that calls it, made at the first call of a session. */
#ifndef LOCKGATE_DOMAINS_H
#define LOCKGATE_DOMAINS_H

#include "postgres.h"

#include <lockgate.h>

#include "datatype/timestamp.h"

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
    TimestampTz statement;       /* and by which of the client's statements, known by its start */
    bool given_up;
    uint64 charged;              /* processor time that its account has, nanoseconds */
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

/* Copies out of the domain; ERROR if it has nothing there. */
void domain_read(Domain *domain, void *to, const void *from, Size size);

/* A call is prepared: what it takes of the exchange is given back afterwards, or, should its arguments or result be refused, when the next call
 * begins that is not nested in another. */
static inline Mark domain_begin(Domain *domain) {
    Exchange *exchange = &domain->exchange;
    if (likely(domain->calls == 0))
        exchange_reset(exchange);
    return exchange_mark(exchange);
}

/* Gives the domain up, as its memory may be damaged: the next call gets a new one. */
void domain_give_up(Domain *domain);

/* Gives up the idle domain that was not used for longest; false if there is none: those with calls in progress or states of aggregates stay. */
bool domains_give_up_idle(void);

/* All of them. */
void domains_give_up(void);

#endif
