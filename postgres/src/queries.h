/* Queries that functions make, under the rights of whom they run for. */
#ifndef LOCKGATE_QUERIES_H
#define LOCKGATE_QUERIES_H

#include "postgres.h"

#include "gates.h"

/* A call is about to make a query. */
void queries_begin(Call *call);

/* Runs a statement whose parameters are texts, spans of the domain's at `parameters`; NULL where a span points nowhere. How many rows it
 * returned, or changed. */
int64 query_run(Call *call, const char *sql, const void *parameters, size_t count, bool read_only);

/* A value of the last statement's rows, as text; NULL if it is null. */
char *query_value(Call *call, int64 row, int column);

/* A call that has made queries is over; not if an error is to be thrown, whose handling does it. */
void queries_end(void);

#endif
