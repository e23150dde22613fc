/* Zstandard: compress and decompress text at two levels. */
#include "bench.h"
#include <zstd.h>

int main(int argc, char **argv)
{
    enum { SIZE = 1 << 20 };
    uint32_t scale = bench_scale(argc, argv);
    size_t bound = ZSTD_compressBound(SIZE);
    unsigned char *text = malloc(SIZE), *packed = malloc(bound), *back = malloc(SIZE);
    bench_check(text && packed && back, "memory");
    bench_text(text, SIZE);
    uint64_t hash = BENCH_HASH_START;
    for (uint32_t round = 0; round < scale; round++) {
        text[round * 4099 % SIZE] ^= 1;
        size_t packed_size = ZSTD_compress(packed, bound, text, SIZE, round & 1 ? 5 : 1);
        bench_check(!ZSTD_isError(packed_size), "ZSTD_compress");
        for (int again = 0; again < 4; again++)
            bench_check(ZSTD_decompress(back, SIZE, packed, packed_size) == SIZE, "ZSTD_decompress");
        bench_check(!memcmp(text, back, SIZE), "round trip");
        hash = bench_hash(hash, packed, packed_size);
    }
    return bench_finish("zstd", hash);
}
