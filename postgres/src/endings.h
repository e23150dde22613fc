/* Calls that did not return, as errors of statements. */
#ifndef LOCKGATE_ENDINGS_H
#define LOCKGATE_ENDINGS_H

#include "postgres.h"

#include "gates.h"
#include "procedure.h"
#include "version.h"

/* What a module says, or the library of it, as text that may be shown and kept: a copy, with '?' for what is none in the database's encoding. */
char *readable(const char *words);

/* A name that a user has given, short and without what a terminal obeys: a copy. */
char *shown(const char *name);

/* Ends the statement for a call of the procedure that has failed, and gives its domain up if that may be damaged. */
NORETURN void ending_of_call(Call *call, const Procedure *procedure);

/* The same for a domain that did not start. */
NORETURN void ending_of_start(Call *start, const char *module);

#endif
