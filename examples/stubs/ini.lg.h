/* What types do not say: whose life ends where, and where the library lives. */
#include "ini.h"

LG_DOMAIN("ini", memory=16M, time=500);

int ini_each(const struct ini *ini, int (*found)(void *data, const char *name, const char *value), void *data) LG_ERROR(-1);
void ini_free(struct ini *ini LG_RELEASE);
