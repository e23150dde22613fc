/* Recursive Fibonacci numbers: calls and returns, nothing else. */
#include "bench.h"

__attribute__((noinline)) static uint64_t fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
    uint32_t scale = bench_scale(argc, argv);
    uint64_t sum = 0;
    for (uint32_t round = 0; round < scale; round++)
        sum += fib(32 + round % 3);
    return bench_finish("fib", sum);
}
