#include <string.h>

long attack(const char *host, char *mine)
{
    memcpy(mine, host, 64);
    return 0;
}
