#include "reader.h"

LG_ENTRY long add(long a, long b)
{
    return a + b;
}
