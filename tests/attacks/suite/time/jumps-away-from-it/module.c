#include <setjmp.h>
long attack(void)
{
    static jmp_buf place;
    setjmp(place);
    longjmp(place, 1);
}
