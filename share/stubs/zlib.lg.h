/* How zlib's functions use what they are given: annotations for `lockgate stubs zlib.h` (docs/stubs.md). */
#include "zlib.h"

LG_DOMAIN("zlib", memory=256M, streams, directory=.);
LG_ERRORS(int, Z_STREAM_ERROR);
/* Items that were read or written. */
LG_ERRORS(z_size_t, 0);
LG_ERRORS(uLong, 0);

/* How much of a destination is written, its size says afterwards, also of a call that fails; but not in versions before 1.2.11. */
#if ZLIB_VERNUM >= 0x12b0
#define ZLIB_DESTINATION LG_OUT LG_SIZE(*destLen) LG_WRITTEN(*destLen)
#else
#define ZLIB_DESTINATION LG_INOUT LG_SIZE(*destLen)
#endif

/* A stream is remembered by its address; the library keeps its own copy. Only the functions that say LG_INOUT look at
 * the buffers: elsewhere next_in and next_out may lead anywhere. */
LG_TYPE(z_streamp, LG_OUT LG_KEPT);
LG_FIELD(z_stream, next_in, LG_IN LG_SIZE(avail_in) LG_CURSOR LG_NULLABLE);
LG_FIELD(z_stream, next_out, LG_OUT LG_SIZE(avail_out) LG_CURSOR LG_NULLABLE);
LG_FIELD(z_stream, msg, LG_OUT LG_STRING LG_BORROWED);
LG_FIELD(z_stream, state, LG_OPAQUE);
/* Memory comes from the domain's own heap. */
LG_FIELD(z_stream, zalloc, LG_IGNORE);
LG_FIELD(z_stream, zfree, LG_IGNORE);
LG_FIELD(z_stream, opaque, LG_IGNORE);

int deflateInit_(z_streamp strm, int level, const char *version LG_STRING, int stream_size);
int deflateInit2_(z_streamp strm, int level, int method, int windowBits, int memLevel, int strategy, const char *version LG_STRING, int stream_size);
int deflate(z_streamp strm LG_INOUT, int flush);
int deflateEnd(z_streamp strm LG_RELEASE);
int deflateParams(z_streamp strm LG_INOUT, int level, int strategy);
int deflateSetDictionary(z_streamp strm, const Bytef *dictionary LG_IN LG_SIZE(dictLength), uInt dictLength);
int deflateGetDictionary(z_streamp strm, Bytef *dictionary LG_OUT LG_SIZE(32768) LG_WRITTEN(*dictLength) LG_NULLABLE,
                         uInt *dictLength LG_OUT LG_NULLABLE);
int deflatePending(z_streamp strm, unsigned *pending LG_OUT LG_NULLABLE, int *bits LG_OUT LG_NULLABLE);
#if ZLIB_VERNUM > 0x1310
int deflateUsed(z_streamp strm, int *bits LG_OUT LG_NULLABLE);
#endif
int deflateSetHeader(z_streamp strm, gz_headerp head) LG_OMIT("the library keeps the header and what it points to");
int inflateInit_(z_streamp strm, const char *version LG_STRING, int stream_size);
int inflateInit2_(z_streamp strm, int windowBits, const char *version LG_STRING, int stream_size);
int inflate(z_streamp strm LG_INOUT, int flush);
int inflateEnd(z_streamp strm LG_RELEASE);
int inflateSetDictionary(z_streamp strm, const Bytef *dictionary LG_IN LG_SIZE(dictLength), uInt dictLength);
int inflateGetDictionary(z_streamp strm, Bytef *dictionary LG_OUT LG_SIZE(32768) LG_WRITTEN(*dictLength) LG_NULLABLE,
                         uInt *dictLength LG_OUT LG_NULLABLE);
int inflateSync(z_streamp strm LG_INOUT);
int inflateValidate(z_streamp strm, int check) LG_ERROR(Z_STREAM_ERROR);
long inflateMark(z_streamp strm) LG_ERROR(-65536);
unsigned long inflateCodesUsed(z_streamp strm) LG_ERROR(-1);
int inflateGetHeader(z_streamp strm, gz_headerp head) LG_OMIT("the library keeps the header and what it points to");
int inflateBack(z_streamp strm, in_func in, void *in_desc, out_func out, void *out_desc)
    LG_OMIT("in() hands out buffers of the program's");
int inflateBackInit_(z_streamp strm, int windowBits, unsigned char *window, const char *version, int stream_size)
    LG_OMIT("in() hands out buffers of the program's");
int inflateBackEnd(z_streamp strm) LG_OMIT("in() hands out buffers of the program's");

int compress(Bytef *dest ZLIB_DESTINATION, uLongf *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
             uLong sourceLen);
int compress2(Bytef *dest ZLIB_DESTINATION, uLongf *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
              uLong sourceLen, int level);
int uncompress(Bytef *dest ZLIB_DESTINATION, uLongf *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
               uLong sourceLen);
int uncompress2(Bytef *dest ZLIB_DESTINATION, uLongf *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(*sourceLen),
                uLong *sourceLen LG_INOUT);
#if ZLIB_VERNUM > 0x1310
int compress_z(Bytef *dest ZLIB_DESTINATION, z_size_t *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
               z_size_t sourceLen);
int compress2_z(Bytef *dest ZLIB_DESTINATION, z_size_t *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
                z_size_t sourceLen, int level);
int uncompress_z(Bytef *dest ZLIB_DESTINATION, z_size_t *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(sourceLen),
                 z_size_t sourceLen);
int uncompress2_z(Bytef *dest ZLIB_DESTINATION, z_size_t *destLen LG_INOUT, const Bytef *source LG_IN LG_SIZE(*sourceLen),
                  z_size_t *sourceLen LG_INOUT);
#endif

/* gzgetc, a macro, looks inside: it sees zeros, and calls the function. */
LG_TYPE(gzFile, LG_OPAQUE LG_ZEROS);
gzFile gzopen(const char *path, const char *mode) LG_ERRNO;
gzFile gzdopen(int fd, const char *mode) LG_ERRNO;
int gzread(gzFile file, voidp buf LG_OUT LG_SIZE(len) LG_WRITTEN(lg_result), unsigned len) LG_ERROR(-1);
/* What it reads of an item that is cut off is there, too, though the result does not count it. */
z_size_t gzfread(voidp buf LG_INOUT LG_SIZE(size *nitems), z_size_t size, z_size_t nitems, gzFile file);
int gzwrite(gzFile file, voidpc buf LG_IN LG_SIZE(len), unsigned len) LG_ERROR(0) LG_AT_MOST(len);
z_size_t gzfwrite(voidpc buf LG_IN LG_SIZE(size *nitems), z_size_t size, z_size_t nitems, gzFile file) LG_AT_MOST(nitems);
int gzprintf(gzFile file, const char *format, ...) LG_PRINTF;
int gzvprintf(gzFile file, const char *format, va_list va) LG_OMIT("a va_list leads to the program's stack");
int gzputs(gzFile file, const char *s) LG_ERROR(-1);
/* A line may have zeros in it. */
char *gzgets(gzFile file, char *buf LG_INOUT LG_SIZE(len) LG_STRING, int len) LG_WITHIN(buf);
int gzputc(gzFile file, int c) LG_ERROR(-1);
int (gzgetc)(gzFile file) LG_ERROR(-1) LG_AT_MOST(255);
int gzgetc_(gzFile file) LG_ERROR(-1) LG_AT_MOST(255);
int gzungetc(int c, gzFile file) LG_ERROR(-1);
int gzeof(gzFile file) LG_ERROR(1);
int gzdirect(gzFile file) LG_ERROR(0);
z_off_t gzseek(gzFile file, z_off_t offset, int whence) LG_ERROR(-1);
z_off_t gztell(gzFile file) LG_ERROR(-1);
z_off_t gzoffset(gzFile file) LG_ERROR(-1);
#ifdef Z_LARGE64
z_off64_t gzseek64(gzFile file, z_off64_t offset, int whence) LG_ERROR(-1);
z_off64_t gztell64(gzFile file) LG_ERROR(-1);
z_off64_t gzoffset64(gzFile file) LG_ERROR(-1);
#endif
int gzclose(gzFile file LG_RELEASE);
int gzclose_r(gzFile file LG_RELEASE);
int gzclose_w(gzFile file LG_RELEASE);
const char *gzerror(gzFile file, int *errnum LG_OUT LG_NULLABLE);

uLong adler32(uLong adler, const Bytef *buf LG_IN LG_SIZE(len) LG_NULLABLE, uInt len);
uLong adler32_z(uLong adler, const Bytef *buf LG_IN LG_SIZE(len) LG_NULLABLE, z_size_t len);
uLong crc32(uLong crc, const Bytef *buf LG_IN LG_SIZE(len) LG_NULLABLE, uInt len);
uLong crc32_z(uLong crc, const Bytef *buf LG_IN LG_SIZE(len) LG_NULLABLE, z_size_t len);
const z_crc_t *get_crc_table(void) LG_SIZE(256);
