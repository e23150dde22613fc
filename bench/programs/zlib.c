/* zlib: compress and decompress text at two levels. */
#include "bench.h"
#include <zlib.h>

int main(int argc, char **argv)
{
    enum { SIZE = 1 << 20 };
    uint32_t scale = bench_scale(argc, argv);
    uLong bound = compressBound(SIZE);
    unsigned char *text = malloc(SIZE), *packed = malloc(bound), *back = malloc(SIZE);
    bench_check(text && packed && back, "memory");
    bench_text(text, SIZE);
    uint64_t hash = BENCH_HASH_START;
    for (uint32_t round = 0; round < scale; round++) {
        uLongf packed_size = bound, back_size = SIZE;
        text[round * 4099 % SIZE] ^= 1;
        bench_check(compress2(packed, &packed_size, text, SIZE, round & 1 ? 6 : 1) == Z_OK, "compress2");
        for (int again = 0; again < 4; again++) {
            back_size = SIZE;
            bench_check(uncompress(back, &back_size, packed, packed_size) == Z_OK, "uncompress");
        }
        bench_check(back_size == SIZE && !memcmp(text, back, SIZE), "round trip");
        hash = bench_hash(hash ^ crc32(0, packed, (uInt)packed_size), &packed_size, sizeof packed_size);
    }
    return bench_finish("zlib", hash);
}
