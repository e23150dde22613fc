/* What the program does for its domains. */
#ifndef HOST_H
#define HOST_H

#include <lockgate/annotations.h>

int say(const char *what LG_STRING, int number);

#endif
