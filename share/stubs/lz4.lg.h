/* How LZ4's functions use what they are given: annotations for `lockgate stubs --partial lz4.h` (docs/stubs.md). Obsolete functions are left out. */
#include "lz4.h"

LG_DOMAIN("lz4", memory=256M);
LG_ERRORS(int, -1);
int LZ4_versionNumber(void) LG_ERROR(0);
int LZ4_sizeofState(void) LG_ERROR(0);

int LZ4_compress_default(const char *src LG_IN LG_SIZE(srcSize), char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result), int srcSize,
                         int dstCapacity) LG_ERROR(0) LG_AT_MOST(dstCapacity);
int LZ4_compress_fast(const char *src LG_IN LG_SIZE(srcSize), char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result), int srcSize,
                      int dstCapacity, int acceleration) LG_ERROR(0) LG_AT_MOST(dstCapacity);
/* The state is room for the call, nothing of which comes back; it is larger than any build of the library needs with LZ4_MEMORY_USAGE of at most 14. */
int LZ4_compress_fast_extState(void *state LG_OUT LG_SIZE(16416) LG_WRITTEN(0), const char *src LG_IN LG_SIZE(srcSize),
                               char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result), int srcSize, int dstCapacity, int acceleration)
    LG_ERROR(0) LG_AT_MOST(dstCapacity);
int LZ4_compress_destSize(const char *src LG_IN LG_SIZE(*srcSizePtr), char *dst LG_OUT LG_SIZE(targetDstSize) LG_WRITTEN(lg_result),
                          int *srcSizePtr LG_INOUT, int targetDstSize) LG_ERROR(0) LG_AT_MOST(targetDstSize);
int LZ4_compressBound(int inputSize) LG_ERROR(0);

int LZ4_decompress_safe(const char *src LG_IN LG_SIZE(compressedSize), char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result < 0 ? 0 : lg_result),
                        int compressedSize, int dstCapacity) LG_AT_MOST(dstCapacity);
int LZ4_decompress_safe_partial(const char *src LG_IN LG_SIZE(srcSize), char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result < 0 ? 0 : lg_result),
                                int srcSize, int targetOutputSize, int dstCapacity) LG_AT_MOST(dstCapacity);
int LZ4_decompress_safe_usingDict(const char *src LG_IN LG_SIZE(srcSize), char *dst LG_OUT LG_SIZE(dstCapacity) LG_WRITTEN(lg_result < 0 ? 0 : lg_result),
                                  int srcSize, int dstCapacity, const char *dictStart LG_IN LG_SIZE(dictSize), int dictSize) LG_AT_MOST(dstCapacity);
int LZ4_decompress_safe_partial_usingDict(const char *src LG_IN LG_SIZE(compressedSize),
                                          char *dst LG_OUT LG_SIZE(maxOutputSize) LG_WRITTEN(lg_result < 0 ? 0 : lg_result), int compressedSize,
                                          int targetOutputSize, int maxOutputSize, const char *dictStart LG_IN LG_SIZE(dictSize), int dictSize)
    LG_AT_MOST(maxOutputSize);

/* Streams refer to the buffers of earlier calls, where the program has them. lz4frame.h has streams that do not. */
LZ4_stream_t *LZ4_createStream(void) LG_OMIT("the stream refers to buffers of earlier calls: use lz4frame.h");
LZ4_streamDecode_t *LZ4_createStreamDecode(void) LG_OMIT("the stream refers to buffers of earlier calls: use lz4frame.h");
LZ4_stream_t *LZ4_initStream(void *buffer, size_t size) LG_OMIT("the stream refers to buffers of earlier calls: use lz4frame.h");
