// Gathers.
#include <stdio.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif
#define N __attribute__((noinline))
static int T[512];
static double D[64];
static long L[64];
N long g1(const int *ix) {
    long s = 0;
#ifdef __AVX2__
    __m256i i = _mm256_loadu_si256((const void *)ix);
    __m256i v = _mm256_i32gather_epi32(T + 100, i, 4);
    __m256i w = _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-7), T, i,
                                            _mm256_set_epi32(0, -1, 0, -1, 0, -1, 0, -1), 2);
    int o[16];
    _mm256_storeu_si256((void *)o, v);
    _mm256_storeu_si256((void *)(o + 8), w);
    for (int k = 0; k < 16; k++) s = s * 3 + o[k];
    __m256d d = _mm256_i32gather_pd(D + 32, _mm_set_epi32(-3, 5, -30, 31), 8);
    double e[4];
    _mm256_storeu_pd(e, d);
    for (int k = 0; k < 4; k++) s = s * 3 + (long)e[k];
    __m256i q = _mm256_i64gather_epi64((const long long *)L + 10, _mm256_set_epi64x(-10, 20, -1, 3), 8);
    long z[4];
    _mm256_storeu_si256((void *)z, q);
    for (int k = 0; k < 4; k++) s = s * 3 + z[k];
#endif
    return s;
}
#ifdef __AVX512F__
N long g2(void) {
    int o[512] = {0};
    __m512i i = _mm512_set_epi32(-5, 3, 3, 100, -20, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
    _mm512_i32scatter_epi32(o + 200, i,
                            _mm512_set_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), 4);
    _mm512_mask_i32scatter_epi32(o + 300, 0x5555, i, i, 4);
    __m512i c = _mm512_mask_compress_epi32(i, 0x0ff0, i);
    int e[16];
    _mm512_storeu_si512(e, c);
    _mm512_mask_compressstoreu_epi32(o + 450, 0x8421, i);
    __m512i x = _mm512_maskz_expandloadu_epi32(0x0f0f, o + 195);
    int y[16];
    _mm512_storeu_si512(y, x);
    long s = 0;
    for (int k = 0; k < 512; k++) s = s * 3 + o[k];
    for (int k = 0; k < 16; k++) s = s * 5 + e[k] * 2 + y[k];
    return s;
}
#else
N long g2(void) { return 0; }
#endif
int main() {
    for (int i = 0; i < 512; i++) T[i] = i * i;
    for (int i = 0; i < 64; i++) {
        D[i] = i * 1.5;
        L[i] = i * i * i;
    }
    int ix[8] = {0, 5, -50, 100, 7, -1, 200, 33};
    int iy[8] = {1, 4, 9, 16, 2, 3, 8, 7};
    (void)iy;
    printf("%ld\n", g2());
#ifdef __AVX2__
    ix[2] = 50;
    ix[5] = 1;
    printf("%ld\n", g1(ix));
    int neg[8] = {-100, -50, -1, 0, 1, 2, 3, 4};
    for (int i = 0; i < 8; i++) neg[i] = -neg[i];
    printf("%ld\n", g1(neg));
#endif
}
