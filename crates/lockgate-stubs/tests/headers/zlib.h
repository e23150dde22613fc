/* What the API of this library declares, without its comments: enough for the generator to read. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <time.h>
#include <sys/types.h>
#define MAX_MEM_LEVEL 9
#define MAX_WBITS 15
#define z_off_t off_t
#define z_off64_t z_off_t
#define ZLIB_VERNUM 0x12d0
#define ZLIB_VER_MAJOR 1
#define ZLIB_VER_MINOR 2
#define ZLIB_VER_REVISION 13
#define ZLIB_VER_SUBREVISION 0
#define Z_NO_FLUSH 0
#define Z_PARTIAL_FLUSH 1
#define Z_SYNC_FLUSH 2
#define Z_FULL_FLUSH 3
#define Z_FINISH 4
#define Z_BLOCK 5
#define Z_TREES 6
#define Z_OK 0
#define Z_STREAM_END 1
#define Z_NEED_DICT 2
#define Z_ERRNO (-1)
#define Z_STREAM_ERROR (-2)
#define Z_DATA_ERROR (-3)
#define Z_MEM_ERROR (-4)
#define Z_BUF_ERROR (-5)
#define Z_VERSION_ERROR (-6)
#define Z_NO_COMPRESSION 0
#define Z_BEST_SPEED 1
#define Z_BEST_COMPRESSION 9
#define Z_DEFAULT_COMPRESSION (-1)
#define Z_FILTERED 1
#define Z_HUFFMAN_ONLY 2
#define Z_RLE 3
#define Z_FIXED 4
#define Z_DEFAULT_STRATEGY 0
#define Z_BINARY 0
#define Z_TEXT 1
#define Z_UNKNOWN 2
#define Z_DEFLATED 8
#define Z_NULL 0
typedef size_t z_size_t;
typedef unsigned char Byte;
typedef unsigned int uInt;
typedef unsigned long uLong;
typedef Byte Bytef;
typedef char charf;
typedef int intf;
typedef uInt uIntf;
typedef uLong uLongf;
typedef void const *voidpc;
typedef void *voidpf;
typedef void *voidp;
typedef unsigned z_crc_t;
typedef voidpf (*alloc_func) (voidpf opaque, uInt items, uInt size);
typedef void (*free_func) (voidpf opaque, voidpf address);
struct internal_state;
typedef struct z_stream_s { Bytef *next_in; uInt avail_in; uLong total_in; Bytef *next_out; uInt avail_out; uLong total_out; char *msg; struct internal_state *state; alloc_func zalloc; free_func zfree; voidpf opaque; int data_type; uLong adler; uLong reserved; } z_stream;
typedef z_stream *z_streamp;
typedef struct gz_header_s { int text; uLong time; int xflags; int os; Bytef *extra; uInt extra_len; uInt extra_max; Bytef *name; uInt name_max; Bytef *comment; uInt comm_max; int hcrc; int done; } gz_header;
typedef gz_header *gz_headerp;
const char * zlibVersion (void);
int deflate (z_streamp strm, int flush);
int deflateEnd (z_streamp strm);
int inflate (z_streamp strm, int flush);
int inflateEnd (z_streamp strm);
int deflateSetDictionary (z_streamp strm, const Bytef *dictionary, uInt dictLength) ;
int deflateGetDictionary (z_streamp strm, Bytef *dictionary, uInt *dictLength) ;
int deflateCopy (z_streamp dest, z_streamp source) ;
int deflateReset (z_streamp strm);
int deflateParams (z_streamp strm, int level, int strategy) ;
int deflateTune (z_streamp strm, int good_length, int max_lazy, int nice_length, int max_chain) ;
uLong deflateBound (z_streamp strm, uLong sourceLen) ;
int deflatePending (z_streamp strm, unsigned *pending, int *bits) ;
int deflatePrime (z_streamp strm, int bits, int value) ;
int deflateSetHeader (z_streamp strm, gz_headerp head) ;
int inflateSetDictionary (z_streamp strm, const Bytef *dictionary, uInt dictLength) ;
int inflateGetDictionary (z_streamp strm, Bytef *dictionary, uInt *dictLength) ;
int inflateSync (z_streamp strm);
int inflateCopy (z_streamp dest, z_streamp source) ;
int inflateReset (z_streamp strm);
int inflateReset2 (z_streamp strm, int windowBits) ;
int inflatePrime (z_streamp strm, int bits, int value) ;
long inflateMark (z_streamp strm);
int inflateGetHeader (z_streamp strm, gz_headerp head) ;
typedef unsigned (*in_func) (void *, unsigned char * *) ;
typedef int (*out_func) (void *, unsigned char *, unsigned);
int inflateBack (z_streamp strm, in_func in, void *in_desc, out_func out, void *out_desc) ;
int inflateBackEnd (z_streamp strm);
uLong zlibCompileFlags (void);
int compress (Bytef *dest, uLongf *destLen, const Bytef *source, uLong sourceLen) ;
int compress2 (Bytef *dest, uLongf *destLen, const Bytef *source, uLong sourceLen, int level) ;
uLong compressBound (uLong sourceLen);
int uncompress (Bytef *dest, uLongf *destLen, const Bytef *source, uLong sourceLen) ;
int uncompress2 (Bytef *dest, uLongf *destLen, const Bytef *source, uLong *sourceLen) ;
typedef struct gzFile_s *gzFile;
gzFile gzdopen (int fd, const char *mode);
int gzbuffer (gzFile file, unsigned size);
int gzsetparams (gzFile file, int level, int strategy);
int gzread (gzFile file, voidp buf, unsigned len);
z_size_t gzfread (voidp buf, z_size_t size, z_size_t nitems, gzFile file) ;
int gzwrite (gzFile file, voidpc buf, unsigned len);
z_size_t gzfwrite (voidpc buf, z_size_t size, z_size_t nitems, gzFile file) ;
int gzprintf (gzFile file, const char *format, ...);
int gzputs (gzFile file, const char *s);
char * gzgets (gzFile file, char *buf, int len);
int gzputc (gzFile file, int c);
int gzgetc (gzFile file);
int gzungetc (int c, gzFile file);
int gzflush (gzFile file, int flush);
int gzrewind (gzFile file);
int gzeof (gzFile file);
int gzdirect (gzFile file);
int gzclose (gzFile file);
int gzclose_r (gzFile file);
int gzclose_w (gzFile file);
const char * gzerror (gzFile file, int *errnum);
void gzclearerr (gzFile file);
uLong adler32 (uLong adler, const Bytef *buf, uInt len);
uLong adler32_z (uLong adler, const Bytef *buf, z_size_t len) ;
uLong crc32 (uLong crc, const Bytef *buf, uInt len);
uLong crc32_z (uLong crc, const Bytef *buf, z_size_t len) ;
uLong crc32_combine_op (uLong crc1, uLong crc2, uLong op);
int deflateInit_ (z_streamp strm, int level, const char *version, int stream_size) ;
int inflateInit_ (z_streamp strm, const char *version, int stream_size) ;
int deflateInit2_ (z_streamp strm, int level, int method, int windowBits, int memLevel, int strategy, const char *version, int stream_size) ;
int inflateInit2_ (z_streamp strm, int windowBits, const char *version, int stream_size) ;
int inflateBackInit_ (z_streamp strm, int windowBits, unsigned char *window, const char *version, int stream_size) ;
struct gzFile_s { unsigned have; unsigned char *next; off_t pos; };
int gzgetc_ (gzFile file);
gzFile gzopen (const char *, const char *);
off_t gzseek (gzFile, off_t, int);
off_t gztell (gzFile);
off_t gzoffset (gzFile);
uLong adler32_combine (uLong, uLong, off_t);
uLong crc32_combine (uLong, uLong, off_t);
uLong crc32_combine_gen (off_t);
const char * zError (int);
int inflateSyncPoint (z_streamp);
const z_crc_t * get_crc_table (void);
int inflateUndermine (z_streamp, int);
int inflateValidate (z_streamp, int);
unsigned long inflateCodesUsed (z_streamp);
int inflateResetKeep (z_streamp);
int deflateResetKeep (z_streamp);
int gzvprintf (gzFile file, const char *format, va_list va) ;
