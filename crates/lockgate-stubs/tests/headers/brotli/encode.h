/* What the API of this library declares, without its comments: enough for the generator to read. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <time.h>
#include <sys/types.h>
#define BROTLI_SANITIZED 0
#define BROTLI_BOOL int
#define BROTLI_TRUE 1
#define BROTLI_FALSE 0
#define BROTLI_MIN_WINDOW_BITS 10
#define BROTLI_MAX_WINDOW_BITS 24
#define BROTLI_LARGE_MAX_WINDOW_BITS 30
#define BROTLI_MIN_INPUT_BLOCK_BITS 16
#define BROTLI_MAX_INPUT_BLOCK_BITS 24
#define BROTLI_MIN_QUALITY 0
#define BROTLI_MAX_QUALITY 11
#define BROTLI_DEFAULT_QUALITY 11
#define BROTLI_DEFAULT_WINDOW 22
typedef void* (*brotli_alloc_func)(void* opaque, size_t size);
typedef void (*brotli_free_func)(void* opaque, void* address);
typedef enum BrotliEncoderMode { BROTLI_MODE_GENERIC = 0, BROTLI_MODE_TEXT = 1, BROTLI_MODE_FONT = 2 } BrotliEncoderMode;
typedef enum BrotliEncoderOperation { BROTLI_OPERATION_PROCESS = 0, BROTLI_OPERATION_FLUSH = 1, BROTLI_OPERATION_FINISH = 2, BROTLI_OPERATION_EMIT_METADATA = 3 } BrotliEncoderOperation;
typedef enum BrotliEncoderParameter { BROTLI_PARAM_MODE = 0, BROTLI_PARAM_QUALITY = 1, BROTLI_PARAM_LGWIN = 2, BROTLI_PARAM_LGBLOCK = 3, BROTLI_PARAM_DISABLE_LITERAL_CONTEXT_MODELING = 4, BROTLI_PARAM_SIZE_HINT = 5, BROTLI_PARAM_LARGE_WINDOW = 6, BROTLI_PARAM_NPOSTFIX = 7, BROTLI_PARAM_NDIRECT = 8, BROTLI_PARAM_STREAM_OFFSET = 9 } BrotliEncoderParameter;
typedef struct BrotliEncoderStateStruct BrotliEncoderState;
int BrotliEncoderSetParameter( BrotliEncoderState* state, BrotliEncoderParameter param, uint32_t value);
BrotliEncoderState* BrotliEncoderCreateInstance( brotli_alloc_func alloc_func, brotli_free_func free_func, void* opaque);
void BrotliEncoderDestroyInstance(BrotliEncoderState* state);
size_t BrotliEncoderMaxCompressedSize(size_t input_size);
int BrotliEncoderCompress( int quality, int lgwin, BrotliEncoderMode mode, size_t input_size, const uint8_t input_buffer[ ( input_size ) ], size_t* encoded_size, uint8_t encoded_buffer[ ( *encoded_size ) ]);
int BrotliEncoderCompressStream( BrotliEncoderState* state, BrotliEncoderOperation op, size_t* available_in, const uint8_t** next_in, size_t* available_out, uint8_t** next_out, size_t* total_out);
int BrotliEncoderIsFinished(BrotliEncoderState* state);
int BrotliEncoderHasMoreOutput( BrotliEncoderState* state);
const uint8_t* BrotliEncoderTakeOutput( BrotliEncoderState* state, size_t* size);
uint32_t BrotliEncoderVersion(void);
