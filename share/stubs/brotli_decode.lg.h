/* How the functions of brotli's decoder use what they are given: annotations for `lockgate stubs brotli/decode.h` (docs/stubs.md). */
#include <brotli/decode.h>

LG_DOMAIN("brotli_decode", memory=512M);
LG_ERRORS(BrotliDecoderResult, BROTLI_DECODER_RESULT_ERROR);
LG_ERRORS(BrotliDecoderErrorCode, BROTLI_DECODER_ERROR_UNREACHABLE);

uint32_t BrotliDecoderVersion(void) LG_ERROR(0);
BROTLI_BOOL BrotliDecoderSetParameter(BrotliDecoderState *state, BrotliDecoderParameter param, uint32_t value) LG_ERROR(0);
BROTLI_BOOL BrotliDecoderHasMoreOutput(const BrotliDecoderState *state) LG_ERROR(0);
BROTLI_BOOL BrotliDecoderIsUsed(const BrotliDecoderState *state) LG_ERROR(0);
BROTLI_BOOL BrotliDecoderIsFinished(const BrotliDecoderState *state) LG_ERROR(0);

BrotliDecoderResult BrotliDecoderDecompress(size_t encoded_size, const uint8_t *encoded_buffer LG_IN LG_SIZE(encoded_size), size_t *decoded_size LG_INOUT,
                                            uint8_t *decoded_buffer LG_OUT LG_SIZE(*decoded_size) LG_WRITTEN(*decoded_size));
/* Memory comes from the domain's own heap. */
BrotliDecoderState *BrotliDecoderCreateInstance(brotli_alloc_func alloc_func LG_IGNORE, brotli_free_func free_func LG_IGNORE, void *opaque LG_IGNORE);
void BrotliDecoderDestroyInstance(BrotliDecoderState *state LG_RELEASE);
const uint8_t *BrotliDecoderTakeOutput(BrotliDecoderState *state, size_t *size LG_INOUT) LG_SIZE(*size);
BrotliDecoderResult BrotliDecoderDecompressStream(BrotliDecoderState *state, size_t *available_in LG_INOUT,
                                                  const uint8_t **next_in LG_IN LG_CURSOR LG_SIZE(*available_in), size_t *available_out LG_INOUT,
                                                  uint8_t **next_out LG_OUT LG_CURSOR LG_SIZE(*available_out), size_t *total_out LG_OUT);
