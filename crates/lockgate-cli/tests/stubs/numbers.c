#include "numbers.h"
#include <errno.h>

#define ANSWER(type, name, failure, other) type name(int x) { errno = 5; return x ? (type)(other) : (type)(failure); }
ANSWER(int, of_a_name, -7, 1)
ANSWER(int, of_an_enumerator, 4, 1)
ANSWER(int, in_octal, -8, 1)
ANSWER(int, of_operators, -1, 1)
ANSWER(int, with_a_cast, -56, 1)
ANSWER(int, a_character, 'a', 1)
ANSWER(int, of_a_size, 4, 1)
ANSWER(unsigned, without_a_sign, -1, 1)
ANSWER(uint64_t, the_largest, -1, 1)
ANSWER(unsigned char, a_byte, -1, 1)
ANSWER(int64_t, the_least, INT64_MIN, 1)
ANSWER(enum state, a_state, BROKEN, WELL)
ANSWER(float, a_half, -0.1f, 1)
ANSWER(double, no_number, __builtin_nan(""), 1)
ANSWER(int, by_default, -1, 1)
ANSWER(const char *, a_text, 0, "text")
