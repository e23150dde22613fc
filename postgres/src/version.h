/* What differs between versions of PostgreSQL, 14 to 18. The tests run with 15, single ones have run with 16 and 17; of 14 and 18 no run is recorded. */
#ifndef LOCKGATE_VERSION_H
#define LOCKGATE_VERSION_H

#include "postgres.h"

#if PG_VERSION_NUM < 140000
#error "lockgate needs PostgreSQL 14 or later"
#endif

/* Settings of a prefix without a definition are refused. */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved EmitWarningsOnPlaceholders
#endif

/* Parameters of statements. */
#if PG_VERSION_NUM < 150000
#define setup_parse_fixed_parameters parse_fixed_parameters
#endif

/* The index of a table's primary key, if it is one at every moment. */
#if PG_VERSION_NUM >= 180000
#define primary_key_of(table) RelationGetPrimaryKeyIndex(table, false)
#else
#define primary_key_of(table) RelationGetPrimaryKeyIndex(table)
#endif

/* Whether transaction_timeout has run out. */
#if PG_VERSION_NUM >= 170000
#define HAS_TRANSACTION_TIMED_OUT TransactionTimeoutPending
#else
#define HAS_TRANSACTION_TIMED_OUT false
#endif

/* The last argument of ExecutorRun(), which 18 has not. */
#if PG_VERSION_NUM >= 180000
#define RUN_ONCE_DECLARED
#define RUN_ONCE
#else
#define RUN_ONCE_DECLARED , bool once
#define RUN_ONCE , once
#endif

/* Names of SQL in a string, of an input function's argument. */
#if PG_VERSION_NUM >= 160000
#define names_in(string) stringToQualifiedNameList(string, NULL)
#else
#define names_in(string) stringToQualifiedNameList(string)
#endif

/* Before a declaration of a function that does not return. */
#if PG_VERSION_NUM >= 180000
#define NORETURN pg_noreturn
#else
#define NORETURN pg_attribute_noreturn()
#endif

#endif
