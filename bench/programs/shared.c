/* Sums up a megabyte again and again, with zlib: the least that a library can do with a buffer. `shared`: in memory that the protected library
 * has, too (docs/stubs.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIZE = 1 << 20 };

int main(int argc, char **argv)
{
    unsigned char *buffer = NULL;
#ifdef LOCKGATE_STUBS_H
    if (argc > 2 && strcmp(argv[1], "shared") == 0)
        buffer = lg_zlib_alloc(SIZE);
#endif
    if (!buffer && !(buffer = malloc(SIZE)))
        return 1;
    unsigned long sum = 1;
    for (int i = 0; i < SIZE; i++)
        buffer[i] = (unsigned char)(i * 7 + i / 251);
    for (long i = argc > 2 ? atol(argv[2]) : 1; i > 0; i--)
        sum = adler32(sum, buffer, SIZE);
    printf("%lu\n", sum);
    return 0;
}
