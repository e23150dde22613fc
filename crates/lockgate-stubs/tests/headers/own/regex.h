/* A header of its own that has the name of one of the system's, and says something else. */
#pragma once
typedef struct own_regex regex_t;
int own_match(regex_t *regex, const char *text);
