/* Functions of SQL in language lgc, and the functions of modules that they stand for. */
#ifndef LOCKGATE_PROCEDURE_H
#define LOCKGATE_PROCEDURE_H

#include "postgres.h"

#include <lockgate.h>

#include "access/htup.h"
#include "modules.h"
#include "rows.h"
#include "types.h"

/* What stands behind AS: 'module.function'. */
typedef struct Target {
    char module[MODULE_NAME + 1];
    char function[NAMEDATALEN * 2];
} Target;

/* False if it is not of that form. */
bool target_parse(const char *source, Target *target);

/* The same of a value of pg_proc, whose text goes to `words`: NULL if it is too long to be one. */
bool target_read(Datum source, Target *target, char **words);

/* Whether the module has a function of that name, whatever its types are. */
bool target_exists(const Target *target, lg_module *module);

/* A function of SQL as the call handler needs it. */
typedef struct Procedure {
    Oid oid;
    Target target;
    char *prototype; /* that the module's function must have */
    bool is_volatile;
    bool is_trigger;
    bool has_state; /* takes or returns lockgate.state */
    int count;
    const Type *result;
    const RowLayout *set; /* rows of a function that returns a set; or NULL */
    const Type *arguments[FUNC_MAX_ARGS];
} Procedure;

/* The function in a row of pg_proc, in the current memory context. `columns` are those that a call expects of a function that returns record; NULL
 * where there is no call. ERROR if language lgc cannot have it. */
Procedure *procedure_of(HeapTuple row, TupleDesc columns);

/* ERROR unless the module has the procedure's function, with its prototype. */
void procedure_check(const Procedure *procedure, lg_module *module);

/* The same as an answer. */
bool procedure_fits(HeapTuple row, lg_module *module);

#endif
