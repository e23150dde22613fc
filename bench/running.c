/* Programs of `lockgate-bench programs` that wait in `main`, and are called meanwhile. With -DCLIENT it calls another one. The server is a module of a
 * megabyte, as megabyte.c is: three quarters code, one quarter initialised data. */
#include <poll.h>

#ifdef CLIENT
extern long theirs(long x);

long call_many(long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += theirs(i);
    return sum;
}
#else
static char data[256 << 10] = { 1 };

long additions(long x)
{
    __asm__(".rept 768 * 1024 / 3\n\tadd $1, %k0\n\t.endr" : "+r"(x));
    return x + data[x & 0xff];
}

long own(long x)
{
    return x;
}
#endif

int main(void)
{
    for (;;)
        poll(0, 0, -1);
}
