/* Sieve of Eratosthenes over bytes: strided stores. */
#include "bench.h"

enum { LIMIT = 4 << 20 };
static unsigned char composite[LIMIT];

int main(int argc, char **argv)
{
    uint32_t scale = bench_scale(argc, argv);
    uint64_t sum = 0;
    for (uint32_t round = 0; round < scale; round++) {
        uint32_t limit = LIMIT - round % 1000;
        memset(composite, 0, limit);
        for (uint32_t i = 2; i * i < limit; i++)
            if (!composite[i])
                for (uint32_t j = i * i; j < limit; j += i)
                    composite[j] = 1;
        for (uint32_t i = 2; i < limit; i++)
            if (!composite[i])
                sum += i;
    }
    return bench_finish("sieve", sum);
}
