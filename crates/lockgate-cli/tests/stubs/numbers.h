/* Values that the API says: what a function returns when it has failed, for the reason that errno has, and constants. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <lockgate/annotations.h>
#include <stdint.h>

#define NONE (-7)
#define ENDLESS 1e400
#define BELOW (-ENDLESS)
#define NOTHING (ENDLESS - ENDLESS)
#define HALF 0.5
#define WIDE L"wide"
#define NARROW "narrow"
#define ZEROS "\0zeros\0"
#define BROAD ((__int128)1 << 100)

enum state { WELL, BROKEN = 4 };

/* With 0 they fail, with errno 5; else they return 1, or what stands for it, with the same errno. */
int of_a_name(int x) LG_ERRNO LG_ERROR(NONE);
int of_an_enumerator(int x) LG_ERRNO LG_ERROR(BROKEN);
int in_octal(int x) LG_ERRNO LG_ERROR(-010);
int of_operators(int x) LG_ERRNO LG_ERROR(3 - 4);
int with_a_cast(int x) LG_ERRNO LG_ERROR((signed char)200);
int a_character(int x) LG_ERRNO LG_ERROR('a');
int of_a_size(int x) LG_ERRNO LG_ERROR(sizeof(int));
unsigned without_a_sign(int x) LG_ERRNO LG_ERROR(-1);
uint64_t the_largest(int x) LG_ERRNO LG_ERROR(-1);
unsigned char a_byte(int x) LG_ERRNO LG_ERROR(-1);
int64_t the_least(int x) LG_ERRNO LG_ERROR(-9223372036854775807 - 1);
enum state a_state(int x) LG_ERRNO LG_ERROR(BROKEN);
float a_half(int x) LG_ERRNO LG_ERROR(-0.1f);
double no_number(int x) LG_ERRNO;
int by_default(int x) LG_ERRNO;
const char *a_text(int x) LG_ERRNO;

#endif
