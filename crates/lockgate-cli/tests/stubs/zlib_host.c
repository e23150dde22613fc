/* Calls a zlib that attacks: prints the kinds of the errors that the calls end with. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* At the end of a file the last line is still where the program has it. */
static int lines(void)
{
    gzFile file = gzopen("lines.gz", "w");
    gzputs(file, "first line\nthe last line\n");
    gzclose(file);
    char line[80] = "", own[16] = "the program's";
    int n = 0;
    file = gzopen("lines.gz", "r");
    while (gzgets(file, line, sizeof line))
        n++;
    printf("%d: %s%s", n, line, gzgets(file, own, sizeof own) ? "" : own);
    gzclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "lines") == 0)
        return lines();
    unsigned char in[64] = "not compressed", out[64];
    struct { z_stream stream; unsigned char guard[4096]; } room;
    memset(&room, 0, sizeof room);
    z_stream *stream = &room.stream;
    if (inflateInit(stream) != Z_OK)
        return 1;
    stream->next_in = in, stream->avail_in = sizeof in;
    stream->next_out = out, stream->avail_out = sizeof out;
    int code = inflate(stream, Z_NO_FLUSH);
    /* The program's structure is as it was. */
    int same = stream->next_in == in && stream->avail_in == sizeof in && stream->next_out == out && stream->avail_out == sizeof out;
    printf("inflate %d %d %s %s\n", code, lg_zlib_error()->kind, lg_zlib_error()->what, same ? "untouched" : "touched");
    inflateEnd(stream);
    if (argc > 1 && strcmp(argv[1], "uncompress") == 0) {
        uLongf length = sizeof out;
        code = uncompress(out, &length, in, sizeof in);
        printf("uncompress %d %d\n", code, length == sizeof out);
        uLong read = sizeof in;
        code = uncompress2(out, &length, in, &read);
        printf("uncompress2 %d %d\n", code, read == sizeof in);
    }
    return 0;
}
