/* Queries that functions make, under the rights of whom they run for. */
#ifndef LOCKGATE_QUERIES_H
#define LOCKGATE_QUERIES_H

#include "postgres.h"

#include "gates.h"
#include "nodes/params.h"

/* A call is about to make a query. */
void queries_begin(Call *call);

/* The parameters of a statement: texts, spans of the domain's at `at`; NULL where a span points nowhere. */
ParamListInfo query_parameters(Call *call, const void *at, size_t count);

/* Runs a statement. How many rows it returned, or changed. */
int64 query_run(Call *call, const char *sql, ParamListInfo parameters, bool read_only);

/* A value of the last statement's rows, as text; NULL if it is null. */
char *query_value(Call *call, int64 row, int column);

/* A call that has made queries is over; not if an error is to be thrown, whose handling does it. */
void queries_end(void);

#endif
