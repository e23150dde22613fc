/* The program's messages. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

#include <lockgate/annotations.h>

void complain(const char *name LG_STRING, int line);

#endif
