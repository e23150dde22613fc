/* Settings from text: "name = value" lines. */
#ifndef INI_H
#define INI_H

struct ini;

/* Null if there is no memory. */
struct ini *ini_parse(const char *text);
/* Null if there is no such name. */
const char *ini_get(const struct ini *ini, const char *name);
/* Calls `found` for each line, until it does not return 0; what it returned. */
int ini_each(const struct ini *ini, int (*found)(void *data, const char *name, const char *value), void *data);
void ini_free(struct ini *ini);

#endif
