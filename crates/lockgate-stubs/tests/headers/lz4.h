/* What the API of this library declares, without its comments: enough for the generator to read. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <time.h>
#include <sys/types.h>
#define LZ4_FREESTANDING 0
#define LZ4_VERSION_MAJOR 1
#define LZ4_VERSION_MINOR 9
#define LZ4_VERSION_RELEASE 4
#define LZ4_MEMORY_USAGE_MIN 10
#define LZ4_MEMORY_USAGE_DEFAULT 14
#define LZ4_MEMORY_USAGE_MAX 20
#define LZ4_MEMORY_USAGE LZ4_MEMORY_USAGE_DEFAULT
#define LZ4_MAX_INPUT_SIZE 0x7E000000
#define LZ4_HASHTABLESIZE (1 << LZ4_MEMORY_USAGE)
#define LZ4_HASH_SIZE_U32 (1 << LZ4_HASHLOG)
#define LZ4_STREAM_MINSIZE ((1UL << LZ4_MEMORY_USAGE) + 32)
#define LZ4_STREAMDECODE_MINSIZE 32
 int LZ4_versionNumber (void);
 const char* LZ4_versionString (void);
 int LZ4_compress_default(const char* src, char* dst, int srcSize, int dstCapacity);
 int LZ4_decompress_safe (const char* src, char* dst, int compressedSize, int dstCapacity);
 int LZ4_compressBound(int inputSize);
 int LZ4_compress_fast (const char* src, char* dst, int srcSize, int dstCapacity, int acceleration);
 int LZ4_sizeofState(void);
 int LZ4_compress_fast_extState (void* state, const char* src, char* dst, int srcSize, int dstCapacity, int acceleration);
 int LZ4_compress_destSize (const char* src, char* dst, int* srcSizePtr, int targetDstSize);
 int LZ4_decompress_safe_partial (const char* src, char* dst, int srcSize, int targetOutputSize, int dstCapacity);
typedef union LZ4_stream_u LZ4_stream_t;
 LZ4_stream_t* LZ4_createStream(void);
 int LZ4_freeStream (LZ4_stream_t* streamPtr);
 void LZ4_resetStream_fast (LZ4_stream_t* streamPtr);
 int LZ4_loadDict (LZ4_stream_t* streamPtr, const char* dictionary, int dictSize);
 int LZ4_compress_fast_continue (LZ4_stream_t* streamPtr, const char* src, char* dst, int srcSize, int dstCapacity, int acceleration);
 int LZ4_saveDict (LZ4_stream_t* streamPtr, char* safeBuffer, int maxDictSize);
typedef union LZ4_streamDecode_u LZ4_streamDecode_t;
 LZ4_streamDecode_t* LZ4_createStreamDecode(void);
 int LZ4_freeStreamDecode (LZ4_streamDecode_t* LZ4_stream);
 int LZ4_setStreamDecode (LZ4_streamDecode_t* LZ4_streamDecode, const char* dictionary, int dictSize);
 int LZ4_decoderRingBufferSize(int maxBlockSize);
 int LZ4_decompress_safe_continue (LZ4_streamDecode_t* LZ4_streamDecode, const char* src, char* dst, int srcSize, int dstCapacity);
 int LZ4_decompress_safe_usingDict(const char* src, char* dst, int srcSize, int dstCapacity, const char* dictStart, int dictSize);
 int LZ4_decompress_safe_partial_usingDict(const char* src, char* dst, int compressedSize, int targetOutputSize, int maxOutputSize, const char* dictStart, int dictSize);
typedef int8_t LZ4_i8;
typedef uint8_t LZ4_byte;
typedef uint16_t LZ4_u16;
typedef uint32_t LZ4_u32;
typedef struct LZ4_stream_t_internal LZ4_stream_t_internal;
struct LZ4_stream_t_internal { LZ4_u32 hashTable[(1 << (14 -2))]; const LZ4_byte* dictionary; const LZ4_stream_t_internal* dictCtx; LZ4_u32 currentOffset; LZ4_u32 tableType; LZ4_u32 dictSize; };
union LZ4_stream_u { char minStateSize[((1UL << 14) + 32)]; LZ4_stream_t_internal internal_donotuse; };
 LZ4_stream_t* LZ4_initStream (void* buffer, size_t size);
typedef struct { const LZ4_byte* externalDict; const LZ4_byte* prefixEnd; size_t extDictSize; size_t prefixSize; } LZ4_streamDecode_t_internal;
union LZ4_streamDecode_u { char minStateSize[32]; LZ4_streamDecode_t_internal internal_donotuse; } ;
  int LZ4_compress (const char* src, char* dest, int srcSize);
  int LZ4_compress_limitedOutput (const char* src, char* dest, int srcSize, int maxOutputSize);
  int LZ4_compress_withState (void* state, const char* source, char* dest, int inputSize);
  int LZ4_compress_limitedOutput_withState (void* state, const char* source, char* dest, int inputSize, int maxOutputSize);
  int LZ4_compress_continue (LZ4_stream_t* LZ4_streamPtr, const char* source, char* dest, int inputSize);
  int LZ4_compress_limitedOutput_continue (LZ4_stream_t* LZ4_streamPtr, const char* source, char* dest, int inputSize, int maxOutputSize);
  int LZ4_uncompress (const char* source, char* dest, int outputSize);
  int LZ4_uncompress_unknownOutputSize (const char* source, char* dest, int isize, int maxOutputSize);
  void* LZ4_create (char* inputBuffer);
  int LZ4_sizeofStreamState(void);
  int LZ4_resetStreamState(void* state, char* inputBuffer);
  char* LZ4_slideInputBuffer (void* state);
  int LZ4_decompress_safe_withPrefix64k (const char* src, char* dst, int compressedSize, int maxDstSize);
  int LZ4_decompress_fast_withPrefix64k (const char* src, char* dst, int originalSize);
  int LZ4_decompress_fast (const char* src, char* dst, int originalSize);
  int LZ4_decompress_fast_continue (LZ4_streamDecode_t* LZ4_streamDecode, const char* src, char* dst, int originalSize);
  int LZ4_decompress_fast_usingDict (const char* src, char* dst, int originalSize, const char* dictStart, int dictSize);
 void LZ4_resetStream (LZ4_stream_t* streamPtr);
