/* What a call must leave as it was, whatever the module has done and however it ends (R15, R17). */
#include <lockgate.h>

/* Calls a function of six words. What it has changed of the registers and control words that it must keep, in words; NULL if nothing. */
const char *changed_by(lg_code function, const unsigned long *words, long *value);

/* Functions of the host that keep to nothing. */
void rude(void), rude_with_the_x87(void);
