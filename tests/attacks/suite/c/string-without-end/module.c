#include <string.h>

long attack(char *mine)
{
    memset(mine, 'x', 4096);
    /* From the last bytes of the window on. */
    return (long)strlen((const char *)0xffffffffffffffc0);
}
