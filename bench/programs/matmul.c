/* Dense matrix product, doubles, blocked by rows: streams and floating point. */
#include "bench.h"

enum { N = 320 };
static double a[N][N], b[N][N], c[N][N];

int main(int argc, char **argv)
{
    uint32_t scale = bench_scale(argc, argv);
    uint64_t state = 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (double)(bench_random(&state) >> 40) / 16777216.0;
            b[i][j] = (double)(bench_random(&state) >> 40) / 16777216.0;
        }
    for (uint32_t round = 0; round < scale; round++) {
        memset(c, 0, sizeof c);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++) {
                double x = a[i][k];
                for (int j = 0; j < N; j++)
                    c[i][j] += x * b[k][j];
            }
        a[round % N][round * 7 % N] = c[round * 3 % N][round % N] / N;
    }
    return bench_finish("matmul", bench_hash(BENCH_HASH_START, c, sizeof c));
}
