/* A library that does with the program's streams what C programs do with theirs. */
#ifndef LENDING_H
#define LENDING_H
#include <lockgate/annotations.h>
#include <stdio.h>
LG_ERRORS(int, -7);
typedef int (*lending_tick)(void *user);
/* Its feof() and 2 * ferror(). */
int lending_state(FILE *file);
int lending_read_all(FILE *file);
/* feof() behind ftell() at the end of the file. */
int lending_tell(FILE *file);
int lending_clear(FILE *file);
/* The end, a callback, the next byte. */
int lending_again(FILE *file, lending_tick tick, void *user LG_DATA);
int lending_number(FILE *file);
/* A number, a callback, the next byte. */
int lending_between(FILE *file, lending_tick tick, void *user LG_DATA);
/* Writes through a buffer of its own, and calls back between. */
int lending_buffered(FILE *file, lending_tick tick, void *user LG_DATA);
/* One byte through such a buffer. */
int lending_first(FILE *file);
/* Its orientation, or what `wide` makes it. */
int lending_wide(FILE *file, int wide);
int lending_close(FILE *file);
#endif
