#include "regex.h"
int own_match(regex_t *regex, const char *text LG_STRING) LG_ERROR(-1);
