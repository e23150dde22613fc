/* How zstd's functions use what they are given: annotations for `lockgate stubs zstd.h` (docs/stubs.md), the stable part of its API. */
#include "zstd.h"

LG_DOMAIN("zstd", memory=1G);
LG_ERRORS(size_t, -1);
LG_ERRORS(ZSTD_bounds, {(size_t)-1});
/* Levels: 0 is the default one. */
LG_ERRORS(int, 0);
/* Versions and dictionaries' numbers: 0 is none. */
LG_ERRORS(unsigned int, 0);
#ifdef ZSTD_ERRORS_H_398273423
ZSTD_ErrorCode ZSTD_getErrorCode(size_t functionResult) LG_ERROR(ZSTD_error_GENERIC);
#endif

/* A result is a size or, above this, an error. What the library calls an error is one, and what is one it calls so: programs take the size of what is
 * none. */
#define ZSTD_LAST_SIZE 0xffffffffffffff88
#define ZSTD_SIZE_WITHIN(capacity) LG_AT_MOST(lg_result > ZSTD_LAST_SIZE ? lg_result : capacity)
#define ZSTD_ROOM(capacity) LG_OUT LG_SIZE(capacity) LG_WRITTEN(lg_result > ZSTD_LAST_SIZE ? 0 : lg_result)
unsigned ZSTD_isError(size_t code) LG_ERROR(1) LG_AT_MOST((code > ZSTD_LAST_SIZE) == (lg_result != 0) ? 1 : -1);

size_t ZSTD_compress(void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize, int compressionLevel)
    ZSTD_SIZE_WITHIN(dstCapacity);
size_t ZSTD_decompress(void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(compressedSize), size_t compressedSize)
    ZSTD_SIZE_WITHIN(dstCapacity);
unsigned long long ZSTD_getFrameContentSize(const void *src LG_IN LG_SIZE(srcSize), size_t srcSize) LG_ERROR(ZSTD_CONTENTSIZE_ERROR);
unsigned long long ZSTD_getDecompressedSize(const void *src LG_IN LG_SIZE(srcSize), size_t srcSize);
size_t ZSTD_findFrameCompressedSize(const void *src LG_IN LG_SIZE(srcSize), size_t srcSize) ZSTD_SIZE_WITHIN(srcSize);

/* Contexts, with what is set in them. */
size_t ZSTD_freeCCtx(ZSTD_CCtx *cctx LG_RELEASE);
size_t ZSTD_freeDCtx(ZSTD_DCtx *dctx LG_RELEASE);
size_t ZSTD_freeCStream(ZSTD_CStream *zcs LG_RELEASE);
size_t ZSTD_freeDStream(ZSTD_DStream *zds LG_RELEASE);
size_t ZSTD_compressCCtx(ZSTD_CCtx *cctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize,
                         int compressionLevel) ZSTD_SIZE_WITHIN(dstCapacity);
size_t ZSTD_decompressDCtx(ZSTD_DCtx *dctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize)
    ZSTD_SIZE_WITHIN(dstCapacity);
size_t ZSTD_compress2(ZSTD_CCtx *cctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize)
    ZSTD_SIZE_WITHIN(dstCapacity);

/* Streams: what lies before `pos` is the program's, from earlier calls, and stays. */
LG_FIELD(ZSTD_outBuffer, dst, LG_INOUT LG_SIZE(size) LG_WRITTEN(pos));
LG_FIELD(ZSTD_inBuffer, src, LG_IN LG_SIZE(size) LG_WRITTEN(pos));
size_t ZSTD_compressStream2(ZSTD_CCtx *cctx, ZSTD_outBuffer *output LG_INOUT, ZSTD_inBuffer *input LG_INOUT, ZSTD_EndDirective endOp);
size_t ZSTD_compressStream(ZSTD_CStream *zcs, ZSTD_outBuffer *output LG_INOUT, ZSTD_inBuffer *input LG_INOUT);
size_t ZSTD_flushStream(ZSTD_CStream *zcs, ZSTD_outBuffer *output LG_INOUT);
size_t ZSTD_endStream(ZSTD_CStream *zcs, ZSTD_outBuffer *output LG_INOUT);
size_t ZSTD_decompressStream(ZSTD_DStream *zds, ZSTD_outBuffer *output LG_INOUT, ZSTD_inBuffer *input LG_INOUT);

/* Dictionaries: the library copies those that it loads, and keeps those that it is to refer to. */
size_t ZSTD_compress_usingDict(ZSTD_CCtx *ctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize,
                               const void *dict LG_IN LG_SIZE(dictSize), size_t dictSize, int compressionLevel) ZSTD_SIZE_WITHIN(dstCapacity);
size_t ZSTD_decompress_usingDict(ZSTD_DCtx *dctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize,
                                 const void *dict LG_IN LG_SIZE(dictSize), size_t dictSize) ZSTD_SIZE_WITHIN(dstCapacity);
ZSTD_CDict *ZSTD_createCDict(const void *dictBuffer LG_IN LG_SIZE(dictSize), size_t dictSize, int compressionLevel);
size_t ZSTD_freeCDict(ZSTD_CDict *CDict LG_RELEASE);
size_t ZSTD_compress_usingCDict(ZSTD_CCtx *cctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize,
                                const ZSTD_CDict *cdict) ZSTD_SIZE_WITHIN(dstCapacity);
ZSTD_DDict *ZSTD_createDDict(const void *dictBuffer LG_IN LG_SIZE(dictSize), size_t dictSize);
size_t ZSTD_freeDDict(ZSTD_DDict *ddict LG_RELEASE);
size_t ZSTD_decompress_usingDDict(ZSTD_DCtx *dctx, void *dst ZSTD_ROOM(dstCapacity), size_t dstCapacity, const void *src LG_IN LG_SIZE(srcSize), size_t srcSize,
                                  const ZSTD_DDict *ddict) ZSTD_SIZE_WITHIN(dstCapacity);
unsigned ZSTD_getDictID_fromDict(const void *dict LG_IN LG_SIZE(dictSize), size_t dictSize);
unsigned ZSTD_getDictID_fromFrame(const void *src LG_IN LG_SIZE(srcSize), size_t srcSize);
size_t ZSTD_CCtx_loadDictionary(ZSTD_CCtx *cctx, const void *dict LG_IN LG_SIZE(dictSize), size_t dictSize);
size_t ZSTD_DCtx_loadDictionary(ZSTD_DCtx *dctx, const void *dict LG_IN LG_SIZE(dictSize), size_t dictSize);
size_t ZSTD_CCtx_refPrefix(ZSTD_CCtx *cctx, const void *prefix, size_t prefixSize) LG_OMIT("the library keeps the prefix: use ZSTD_CCtx_loadDictionary");
size_t ZSTD_DCtx_refPrefix(ZSTD_DCtx *dctx, const void *prefix, size_t prefixSize) LG_OMIT("the library keeps the prefix: use ZSTD_DCtx_loadDictionary");
