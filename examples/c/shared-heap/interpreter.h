/* What plugins and the base have in common. */
#include "lauxlib.h"

/* Makes `require "name"` find a library; with NULL, no more. */
void offer(const char *name, lua_CFunction open);

/* Ends the interpreter: what scripts hold is given back, while plugins are there to do it. */
void stop(void);

/* Runs a script. Returns the text of its result, or of the error, for the caller to free. */
char *run(const char *script);

/* A text that scripts hold. One plugin allocates the letters, another changes and frees them. */
struct text {
    char *letters;
};
#define TEXT "text"
