/* Rows: composite values, and what functions that return sets return. In C a row is a structure: lg_pg_row, then the columns in their order. */
#ifndef LOCKGATE_ROWS_H
#define LOCKGATE_ROWS_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "fmgr.h"
#include "types.h"
#include "utils/tuplestore.h"

typedef struct Column {
    const Type *type; /* NULL for a column that is not in the structure: it was dropped, or cannot be */
    Size at;          /* in the structure, bytes */
    Oid fit;          /* function that brings values to the column's length, as in varchar(10), or fails; or InvalidOid */
    int32 length;     /* which it is given */
} Column;

typedef struct RowLayout {
    TupleDesc descriptor;
    uint64 version; /* of a row type that has a name: another one after each change */
    Size size; /* of the structure, bytes */
    Column columns[FLEXIBLE_ARRAY_MEMBER];
} RowLayout;

/* Most columns: those that lg_pg_row has a bit for. */
#define MOST_COLUMNS 64

/* And of all rows that a function takes or returns, with the rows in them: those who own row types can make each of many others. */
#define MOST_NESTED_COLUMNS 4096

/* The layout of rows, in the current memory context. ERROR if a column has no type in C; or, of rows that are `returned`, one whose constraints
 * would have to be checked at every call; or if there are more than `columns` counts down. */
RowLayout *row_layout(TupleDesc descriptor, bool returned, int *columns);

/* The same of a row type. */
RowLayout *row_layout_of(Oid type, bool returned, int *columns);

/* The same of a table's rows, without the columns that a function cannot return. */
RowLayout *row_layout_of_table(TupleDesc descriptor);

/* Begins what a function that returns a set returns: rows go to a store, which the statement reads when the function is done. */
Tuplestorestate *rows_begin(FunctionCallInfo call, TupleDesc descriptor);

/* The type of a composite value with that layout. */
const Type *row_type(Oid oid, const RowLayout *layout);

/* Makes a structure, in the exchange. */
const void *row_give(const RowLayout *layout, HeapTuple tuple, struct Exchange *exchange);

/* Takes a structure of the domain's apart: values in the current memory context. */
void row_take(const RowLayout *layout, const void *from, struct Domain *domain, Datum *values, bool *nulls);

#endif
