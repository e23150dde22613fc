/* The program's messages. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

#include <lockgate/annotations.h>

/* Domains may call it, too. */
void complain(const char *name LG_STRING, int line) LG_ENTRY;

#endif
