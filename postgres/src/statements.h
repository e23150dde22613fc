/* Statements as the server runs them: which of the client's is in progress, what CREATE FUNCTION with two strings and DISCARD ALL mean. */
#ifndef LOCKGATE_STATEMENTS_H
#define LOCKGATE_STATEMENTS_H

#include "postgres.h"

/* Looks at statements from now on; for _PG_init. */
void statements_init(void);

/* The client's statement that is in progress, as a number of its own: also where one message has several. Statements that functions run are part of the
 * one that calls these. */
uint64 statements_current(void);

/* A statement begins, of the client's if it is not part of another. */
void statements_begin(void);

#endif
