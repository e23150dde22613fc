#include <lending.h>
#include <lockgate_stubs.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) \
    do { \
        if (!(x)) { \
            printf("line %d: %s; %s\n", __LINE__, #x, lg_lending_error()->message); \
            return 1; \
        } \
    } while (0)

static FILE *with(const char *text)
{
    FILE *file = tmpfile();
    if (!file || fputs(text, file) < 0 || fseek(file, 0, SEEK_SET) != 0)
        perror("tmpfile");
    return file;
}

static int reads(void *file) { return fgetc(file); }
static int writes(void *file) { return fputs("called", file); }
static int goes_back(void *file) { return fseek(file, 0, SEEK_SET); }

static int indicators(void)
{
    FILE *file = with("text"), *only = fopen("/dev/null", "r");
    CHECK(file && only);
    CHECK(lending_state(file) == 0 && lending_read_all(file) == 1 && feof(file));
    /* In the next call, too, and after the program has read. */
    CHECK(lending_state(file) == 1 && lending_clear(file) == 0 && !feof(file));
    while (fgetc(file) != EOF)
        ;
    CHECK(lending_state(file) == 1 && lending_tell(file) == 1 && feof(file));
    CHECK(lending_again(file, goes_back, file) == 't');
    CHECK(lending_again(file, writes, file) == EOF && feof(file));
    /* The end is no error because there was one. */
    CHECK(fputc('x', only) == EOF && ferror(only) && lending_state(only) == 2 && lending_read_all(only) == 3);
    CHECK(ferror(only) && feof(only) && lending_clear(only) == 0 && !ferror(only) && !feof(only));
    return fclose(file) + fclose(only);
}

static int pushed_back(void)
{
    FILE *one = with("12secret"), *other = with("77 public");
    int ends[2];
    CHECK(one && other && pipe(ends) == 0 && write(ends[1], "5xyz", 4) == 4 && close(ends[1]) == 0);
    CHECK(lending_number(one) == 12 && lending_number(other) == 77 && fgetc(one) == 's' && ftell(one) == 3);
    rewind(one);
    CHECK(lending_between(one, reads, one) == 12000000 + 's' * 1000 + 'e');
    FILE *piped = fdopen(ends[0], "r");
    CHECK(piped && lending_number(piped) == 5 && lending_first(piped) == 'x' && fgetc(piped) == 'y' && lending_first(piped) == 'z');
    return fclose(one) + fclose(other) + fclose(piped);
}

static int buffers(void)
{
    FILE *file = with(""), *other = with("");
    char text[64] = "";
    CHECK(file && other && lending_buffered(file, writes, file) == 0 && fputs("end", file) >= 0);
    rewind(file);
    CHECK(fgets(text, sizeof text, file) && strcmp(text, "[called]end") == 0);
    CHECK(lending_buffered(other, writes, other) == 0);
    rewind(other);
    CHECK(lending_first(other) == '[' && fgetc(other) == 'c');
    rewind(file);
    CHECK(lending_wide(file, 1) > 0 && lending_wide(other, 0) == 0);
    return fclose(file) + fclose(other);
}

/* The program's stream is the program's to close. */
static int ends(void)
{
    FILE *file = with("");
    CHECK(file && lending_close(file) == -7 && lg_lending_error()->kind == LG_STUB_DATA && strcmp(lg_lending_error()->what, "stream") == 0);
    CHECK(fputs("3", file) >= 0 && fseek(file, 0, SEEK_SET) == 0 && lending_number(file) == 3);
    return fclose(file);
}

int main(void) { return indicators() || pushed_back() || buffers() || ends(); }
