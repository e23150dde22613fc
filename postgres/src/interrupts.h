/* Cancelled statements, timeouts and shutdowns end functions that run. */
#ifndef LOCKGATE_INTERRUPTS_H
#define LOCKGATE_INTERRUPTS_H

#include <lockgate.h>

/* Has calls of domains with these options end when the server wants the statement, or the session, to end. */
void interrupts_stop(lg_options *options);

/* Notices the signals by which the server is told so. Once for each process is enough; more often does no harm. */
void interrupts_listen(void);

#endif
