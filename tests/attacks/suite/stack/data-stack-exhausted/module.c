__attribute__((noinline)) static long down(volatile char *above)
{
    volatile char frame[100000];
    frame[0] = above[0];
    return down(frame) + frame[0];
}
long attack(void) { volatile char here = 1; return down(&here); }
