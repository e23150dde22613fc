/* How the functions of brotli's encoder use what they are given: annotations for `lockgate stubs brotli/encode.h` (docs/stubs.md). */
#include <brotli/encode.h>

LG_DOMAIN("brotli_encode", memory=512M);

uint32_t BrotliEncoderVersion(void) LG_ERROR(0);
BROTLI_BOOL BrotliEncoderSetParameter(BrotliEncoderState *state, BrotliEncoderParameter param, uint32_t value) LG_ERROR(0);
BROTLI_BOOL BrotliEncoderIsFinished(BrotliEncoderState *state) LG_ERROR(0);
BROTLI_BOOL BrotliEncoderHasMoreOutput(BrotliEncoderState *state) LG_ERROR(0);

BROTLI_BOOL BrotliEncoderCompress(int quality, int lgwin, BrotliEncoderMode mode, size_t input_size, const uint8_t *input_buffer LG_IN LG_SIZE(input_size),
                                  size_t *encoded_size LG_INOUT, uint8_t *encoded_buffer LG_OUT LG_SIZE(*encoded_size) LG_WRITTEN(lg_result ? *encoded_size : 0)) LG_ERROR(0) LG_AT_MOST(1);
/* Memory comes from the domain's own heap. */
BrotliEncoderState *BrotliEncoderCreateInstance(brotli_alloc_func alloc_func LG_IGNORE, brotli_free_func free_func LG_IGNORE, void *opaque LG_IGNORE);
void BrotliEncoderDestroyInstance(BrotliEncoderState *state LG_RELEASE);
const uint8_t *BrotliEncoderTakeOutput(BrotliEncoderState *state, size_t *size LG_INOUT) LG_SIZE(*size);
BROTLI_BOOL BrotliEncoderCompressStream(BrotliEncoderState *state, BrotliEncoderOperation op, size_t *available_in LG_INOUT,
                                        const uint8_t **next_in LG_IN LG_CURSOR LG_SIZE(*available_in), size_t *available_out LG_INOUT,
                                        uint8_t **next_out LG_OUT LG_CURSOR LG_SIZE(*available_out), size_t *total_out LG_OUT) LG_ERROR(0);
