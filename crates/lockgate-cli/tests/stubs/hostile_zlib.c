/* What a hostile zlib may answer: linked in front of the real one, whose functions of these names are weak. */
#include <stdint.h>
#include <string.h>
#include "zlib.h"

#if ATTACK == 1 /* more came out than there was room for */
int ZEXPORT inflate(z_streamp strm, int flush)
{
    strm->next_out += strm->avail_out + 4096;
    strm->avail_out = 0;
    return Z_OK;
}
int ZEXPORT gzread(gzFile file, voidp buf, unsigned len) { return (int)len + 100000; }
#elif ATTACK == 2 /* more is left than there was */
int ZEXPORT inflate(z_streamp strm, int flush)
{
    strm->avail_out += 1 << 20;
    return Z_OK;
}
int ZEXPORT uncompress(Bytef *dest, uLongf *destLen, const Bytef *source, uLong sourceLen)
{
    *destLen += 100;
    return Z_OK;
}
int ZEXPORT uncompress2(Bytef *dest, uLongf *destLen, const Bytef *source, uLong *sourceLen)
{
    *destLen = 1;
    *sourceLen += 100; /* the program goes on behind what was read */
    return Z_OK;
}
#elif ATTACK == 3 /* another domain's handle, another domain's string */
static void *foreign(void) { return (void *)((uintptr_t)&foreign + ((uintptr_t)8 << 30)); }
int ZEXPORT inflate(z_streamp strm, int flush)
{
    strm->msg = foreign();
    return Z_OK;
}
gzFile ZEXPORT gzopen(const char *path, const char *mode) { return foreign(); }
gzFile ZEXPORT gzdopen(int fd, const char *mode) { return foreign(); }
#elif ATTACK == 4 /* a crash */
int ZEXPORT inflate(z_streamp strm, int flush) { return *(volatile int *)(uintptr_t)8; }
int ZEXPORT gzread(gzFile file, voidp buf, unsigned len) { return *(volatile int *)(uintptr_t)8; }
#endif
