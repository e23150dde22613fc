/* Statements of SQL that concern the language: CREATE FUNCTION with two strings, DISCARD ALL. */
#ifndef LOCKGATE_STATEMENTS_H
#define LOCKGATE_STATEMENTS_H

/* Looks at utility statements from now on; for _PG_init. */
void statements_init(void);

#endif
