#include <stdlib.h>
#include <unistd.h>

long attack(void)
{
    _exit(42);
}
