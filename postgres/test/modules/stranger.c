/* Wants something of its host that PostgreSQL has not got. */
extern int host_secret(void);
int secret(void) { return host_secret(); }
