/* bzip2: compress and decompress text. */
#include "bench.h"
#include <bzlib.h>

/* The library calls this where its own consistency checks fail (BZ_NO_STDIO). */
void bz_internal_error(int code)
{
    fprintf(stderr, "bzip2 internal error %d\n", code);
    exit(1);
}

int main(int argc, char **argv)
{
    enum { SIZE = 1 << 19, BOUND = SIZE + SIZE / 100 + 600 };
    static char text[SIZE], packed[BOUND], back[SIZE];
    uint32_t scale = bench_scale(argc, argv);
    bench_text((unsigned char *)text, SIZE);
    uint64_t hash = BENCH_HASH_START;
    for (uint32_t round = 0; round < scale; round++) {
        unsigned packed_size = BOUND, back_size = SIZE;
        text[round * 4099 % SIZE] ^= 1;
        bench_check(BZ2_bzBuffToBuffCompress(packed, &packed_size, text, SIZE, 5, 0, 30) == BZ_OK, "compress");
        bench_check(BZ2_bzBuffToBuffDecompress(back, &back_size, packed, packed_size, 0, 0) == BZ_OK, "decompress");
        bench_check(back_size == SIZE && !memcmp(text, back, SIZE), "round trip");
        hash = bench_hash(hash, packed, packed_size);
    }
    return bench_finish("bzip2", hash);
}
