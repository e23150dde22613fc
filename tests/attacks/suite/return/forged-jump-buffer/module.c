#include <setjmp.h>
static jmp_buf buffer;
long attack(long host)
{
    if (setjmp(buffer))
        return 1;
    long *words = (long *)buffer;
    for (unsigned i = 0; i < sizeof buffer / sizeof *words; i++)
        if ((unsigned long)words[i] > 4096) /* whatever may be an address */
            words[i] = host;
    longjmp(buffer, 1);
}
