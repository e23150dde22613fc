#include <setjmp.h>
static jmp_buf buffer;
static volatile int rounds;
__attribute__((noinline)) static long jump(void)
{
    long *words = (long *)buffer;
    for (unsigned i = 0; i < sizeof buffer / sizeof *words; i++)
        if (words[i] >> 30 == (long)__builtin_frame_address(0) >> 30 || words[i] >> 30 == ((long)__builtin_frame_address(0) + (1L << 30)) >> 30)
            words[i] += 16 << 20;
    longjmp(buffer, 1);
}
long attack(void)
{
    if (setjmp(buffer))
        return ++rounds == 1 ? 0 : rounds;
    return jump();
}
