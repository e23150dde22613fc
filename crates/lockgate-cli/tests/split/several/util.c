/* Helpers that every part has for itself. */
#include "util.h"
#include <string.h>

LG_EVERYWHERE;

static int measured;
const char marks[4] = {'+', '-', '*', '/'};

int length_of(const char *text)
{
    measured++;
    return (int)strlen(text);
}
