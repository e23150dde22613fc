/* How the functions of LZ4's frames use what they are given: annotations for `lockgate stubs --partial lz4frame.h` (docs/stubs.md). */
#include "lz4frame.h"
#include "lz4.h" /* which version it is */

LG_DOMAIN("lz4frame", memory=256M);
LG_ERRORS(size_t, -1);
LG_ERRORS(LZ4F_errorCode_t, -1);
int LZ4F_compressionLevel_max(void) LG_ERROR(0);
unsigned LZ4F_getVersion(void) LG_ERROR(0);

/* A result is a size or, above this, an error. What the library calls an error is one, and what is one it calls so: programs take the size of what is
 * none. */
#define LZ4F_LAST_SIZE 0xffffffffffffff80
#define LZ4F_SIZE_WITHIN(capacity) LG_AT_MOST(lg_result > LZ4F_LAST_SIZE ? lg_result : capacity)
#define LZ4F_ROOM(capacity) LG_OUT LG_SIZE(capacity) LG_WRITTEN(lg_result > LZ4F_LAST_SIZE ? 0 : lg_result)
unsigned LZ4F_isError(LZ4F_errorCode_t code) LG_ERROR(1) LG_AT_MOST((code > LZ4F_LAST_SIZE) == (lg_result != 0) ? 1 : -1);

LZ4F_errorCode_t LZ4F_createCompressionContext(LZ4F_cctx **cctxPtr LG_OUT, unsigned version);
LZ4F_errorCode_t LZ4F_freeCompressionContext(LZ4F_cctx *cctx LG_RELEASE);
size_t LZ4F_compressFrameBound(size_t srcSize, const LZ4F_preferences_t *preferencesPtr LG_IN);
size_t LZ4F_compressBound(size_t srcSize, const LZ4F_preferences_t *prefsPtr LG_IN);
size_t LZ4F_compressFrame(void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const void *srcBuffer LG_IN LG_SIZE(srcSize), size_t srcSize,
                          const LZ4F_preferences_t *preferencesPtr LG_IN) LZ4F_SIZE_WITHIN(dstCapacity);
size_t LZ4F_compressBegin(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const LZ4F_preferences_t *prefsPtr LG_IN)
    LZ4F_SIZE_WITHIN(dstCapacity);
/* With options the library may refer to the buffers of earlier calls (`stableSrc`, `stableDst`), which are not there any more. */
size_t LZ4F_compressUpdate(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const void *srcBuffer LG_IN LG_SIZE(srcSize),
                           size_t srcSize, const LZ4F_compressOptions_t *cOptPtr LG_NULL) LZ4F_SIZE_WITHIN(dstCapacity);
size_t LZ4F_flush(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const LZ4F_compressOptions_t *cOptPtr LG_NULL)
    LZ4F_SIZE_WITHIN(dstCapacity);
size_t LZ4F_compressEnd(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const LZ4F_compressOptions_t *cOptPtr LG_NULL)
    LZ4F_SIZE_WITHIN(dstCapacity);

LZ4F_errorCode_t LZ4F_createDecompressionContext(LZ4F_dctx **dctxPtr LG_OUT, unsigned version);
LZ4F_errorCode_t LZ4F_freeDecompressionContext(LZ4F_dctx *dctx LG_RELEASE);
size_t LZ4F_headerSize(const void *src LG_IN LG_SIZE(srcSize), size_t srcSize) LZ4F_SIZE_WITHIN(19);
size_t LZ4F_getFrameInfo(LZ4F_dctx *dctx, LZ4F_frameInfo_t *frameInfoPtr LG_OUT, const void *srcBuffer LG_IN LG_SIZE(*srcSizePtr),
                         size_t *srcSizePtr LG_INOUT);
size_t LZ4F_decompress(LZ4F_dctx *dctx, void *dstBuffer LG_OUT LG_SIZE(*dstSizePtr) LG_WRITTEN(*dstSizePtr), size_t *dstSizePtr LG_INOUT,
                       const void *srcBuffer LG_IN LG_SIZE(*srcSizePtr), size_t *srcSizePtr LG_INOUT, const LZ4F_decompressOptions_t *dOptPtr LG_NULL);

/* A dictionary of its own, made by LZ4F_createCDict, the library copies. */
LZ4F_CDict *LZ4F_createCDict(const void *dictBuffer LG_IN LG_SIZE(dictSize), size_t dictSize);
void LZ4F_freeCDict(LZ4F_CDict *CDict LG_RELEASE);
size_t LZ4F_compressFrame_usingCDict(LZ4F_cctx *cctx, void *dst LZ4F_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize),
                                     size_t srcSize, const LZ4F_CDict *cdict, const LZ4F_preferences_t *preferencesPtr LG_IN)
    LZ4F_SIZE_WITHIN(dstCapacity);
size_t LZ4F_compressBegin_usingCDict(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const LZ4F_CDict *cdict,
                                     const LZ4F_preferences_t *prefsPtr LG_IN) LZ4F_SIZE_WITHIN(dstCapacity);
#if LZ4_VERSION_NUMBER >= 11000
size_t LZ4F_compressBegin_usingDict(LZ4F_cctx *cctx, void *dstBuffer, size_t dstCapacity, const void *dictBuffer, size_t dictSize,
                                    const LZ4F_preferences_t *prefsPtr) LG_OMIT("the library keeps the dictionary: use LZ4F_createCDict");
#endif
#if LZ4_VERSION_NUMBER >= 11000 || defined LZ4F_STATIC_LINKING_ONLY
size_t LZ4F_decompress_usingDict(LZ4F_dctx *dctx, void *dstBuffer, size_t *dstSizePtr, const void *srcBuffer, size_t *srcSizePtr, const void *dict,
                                 size_t dictSize, const LZ4F_decompressOptions_t *decompressOptionsPtr) LG_OMIT("the library keeps the dictionary");
#endif

#ifdef LZ4F_STATIC_LINKING_ONLY
LG_ERRORS(LZ4F_errorCodes, LZ4F_ERROR_GENERIC);
size_t LZ4F_uncompressedUpdate(LZ4F_cctx *cctx, void *dstBuffer LZ4F_ROOM(dstCapacity), size_t dstCapacity, const void *srcBuffer LG_IN LG_SIZE(srcSize),
                               size_t srcSize, const LZ4F_compressOptions_t *cOptPtr LG_NULL) LZ4F_SIZE_WITHIN(dstCapacity);
#endif
