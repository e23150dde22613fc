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

/* Whether aggregates have states in the domain. */
bool states_of(const Domain *domain);

/* ERROR where an aggregate is computed in parts, as parallel workers do: a state is an address in the domain of one process, so what another adds
 * to it would be lost, or be something else. */
void states_check(FunctionCallInfo call);

/* The domain ends: its states are gone. */
void states_forget(Domain *domain);

/* ERROR if an argument of the call is a state, not null, that is not the state of the aggregate whose call it is, in this domain: an address says
 * nothing about whose it is, so only the server's own word counts, which hands an aggregate's functions its state as their first argument. */
void states_check_given(const Domain *domain, const Procedure *procedure, FunctionCallInfo call);

/* ERROR if the aggregate that this is a call of has states in a domain of the same module and role that is no more. */
void states_check_kept(const Domain *domain, FunctionCallInfo call);

#endif
