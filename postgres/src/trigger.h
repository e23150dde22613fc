/* Functions of triggers: lg_pg_trigger in, a row or nothing out. */
#ifndef LOCKGATE_TRIGGER_H
#define LOCKGATE_TRIGGER_H

#include "postgres.h"

#include "domains.h"
#include "fmgr.h"
#include "registers.h"
#include "rows.h"

/* Rows of a trigger's table: they are given as the table has them that the trigger was made for, which for a partition's is the partitioned one. Its
 * columns may have another order. */
typedef struct TriggerRows {
    Oid trigger;       /* that all this is of */
    TupleDesc columns; /* of the table that it fires for */
    RowLayout *layout; /* of the table that it was made for */
    struct TupleConversionMap *to_layout, *from_layout; /* NULL if both are the same */
} TriggerRows;

/* What such a function is in C, but for its name. */
#define TRIGGER_RESULT "const lg_pg_row *"
#define TRIGGER_ARGUMENT "const lg_pg_trigger *"

/* Puts the description of the call where the function expects its argument. `rows` is filled in, in `memory`, if it is of another trigger. ERROR if
 * this is no trigger's call. */
void trigger_give(FunctionCallInfo call, TriggerRows *rows, MemoryContext memory, Registers *registers, Exchange *exchange);

/* The row that a function has returned, as the server wants it; it may be NULL. */
Datum trigger_take(FunctionCallInfo call, const TriggerRows *rows, const void *row, Domain *domain);

#endif
