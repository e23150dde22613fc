#include "lending.h"
#include <wchar.h>

static char room[4096];

int lending_state(FILE *file) { return !!feof(file) + 2 * !!ferror(file); }

int lending_read_all(FILE *file)
{
    while (fgetc(file) != EOF)
        ;
    return lending_state(file);
}

int lending_tell(FILE *file)
{
    lending_read_all(file);
    return ftell(file) < 0 ? -1 : lending_state(file);
}

int lending_clear(FILE *file)
{
    clearerr(file);
    return 0;
}

int lending_again(FILE *file, lending_tick tick, void *user)
{
    lending_read_all(file);
    tick(user);
    return fgetc(file);
}

int lending_number(FILE *file)
{
    int number = -1;
    return fscanf(file, "%d", &number) == 1 ? number : -1;
}

int lending_between(FILE *file, lending_tick tick, void *user)
{
    int number = lending_number(file), called = tick(user);
    return number * 1000000 + called * 1000 + fgetc(file);
}

int lending_buffered(FILE *file, lending_tick tick, void *user)
{
    int refused = setvbuf(file, room, _IOFBF, sizeof room);
    fputs("[", file);
    tick(user);
    fputs("]", file);
    return refused;
}

int lending_first(FILE *file)
{
    setvbuf(file, room, _IOFBF, sizeof room);
    return fgetc(file);
}

int lending_wide(FILE *file, int wide) { return fwide(file, wide); }

int lending_close(FILE *file) { return fclose(file); }
