/* States of aggregates: memory of a domain that lives as long as the aggregate's own. */
#ifndef LOCKGATE_STATES_H
#define LOCKGATE_STATES_H

#include "postgres.h"

#include "domains.h"
#include "fmgr.h"

/* lockgate.state, or InvalidOid where the extension is not (any more). In SQL its values mean nothing: they are addresses in a domain. */
Oid state_oid(void);

/* Room for `size` bytes in the domain until the aggregate that makes this call is done. ERROR if the call is none of an aggregate's. */
void *state_room(Domain *domain, FunctionCallInfo call, Size size);

/* The domain ends: its states are gone. */
void states_forget(Domain *domain);

#endif
