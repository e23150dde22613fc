/* Reads settings, `name = value`, from text that nobody has checked. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <lockgate/annotations.h>

struct settings {
    int port;
    int workers;
};

/* The home of what this header declares: a domain that may take a second for each call, and is begun again after a fault. */
LG_DOMAIN("settings", time=1000, restart);

/* How many settings there were, or -1. */
int settings_read(const char *text LG_IN LG_STRING, struct settings *into LG_INOUT) LG_ENTRY LG_ERROR(-1);

#endif
