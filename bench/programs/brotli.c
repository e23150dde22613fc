/* Compresses a file to `FILE.br` in one piece, at three qualities; with DECODE, makes `FILE.out` of a file `FILE.br`. For scripts/stubs-libraries.sh. */
#ifdef DECODE
#include <brotli/decode.h>
#else
#include <brotli/encode.h>
#endif
#include <stdio.h>
#include <stdlib.h>

static const char *argument;

static void fail(const char *what)
{
    printf("%s: %s\n", argument, what);
    exit(1);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail("cannot be read");
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        fail("cannot be read");
    fclose(file);
    return bytes;
}

static void write_file(const char *ending, int number, const uint8_t *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s.%s%d", argument, ending, number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        fail("cannot be written");
}

int main(int count, char **arguments)
{
    argument = count > 1 ? arguments[1] : "";
    size_t size;
    uint8_t *bytes = read_file(argument, &size);
#ifdef DECODE
    printf("version %x\n", BrotliDecoderVersion());
    /* Too little room is an error, like damage. */
    for (int shift = 0; shift < 2; shift++) {
        size_t room = count > 2 ? (size_t)atol(arguments[2]) >> shift : 0, decoded = room;
        uint8_t *out = malloc(room + 1);
        BrotliDecoderResult result = BrotliDecoderDecompress(size, bytes, &decoded, out);
        printf("room of %zu: %d\n", room, result);
        if (result == BROTLI_DECODER_RESULT_SUCCESS)
            write_file("out", shift, out, decoded);
        else if (!shift)
            fail("is damaged");
        free(out);
    }
#else
    printf("version %x\n", BrotliEncoderVersion());
    for (int quality = 1; quality <= 11; quality += 5) {
        size_t room = BrotliEncoderMaxCompressedSize(size), encoded = room;
        uint8_t *out = malloc(room + 1);
        if (!BrotliEncoderCompress(quality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, size, bytes, &encoded, out))
            fail("cannot be compressed");
        printf("%zu bytes to %zu\n", size, encoded);
        write_file("br", quality, out, encoded);
        free(out);
    }
#endif
    free(bytes);
    return 0;
}
