#include "words.h"
#include <stdlib.h>
#include <string.h>

struct memory {
    int x;
};

int def(int in) { return in + 1; }
int letter(char c) { return c; }
int None(int lambda) { return lambda + 2; }
int class(const int *list, int len) { return len ? list[len - 1] : 0; }
int ctypes(int x) { return x + 3; }
int print(const char *str) { return (int)strlen(str); }
int len(int x) { return x + 4; }
int isinstance(int x) { return x + 5; }
int type(int fn) { return fn + 6; }
int self(int crate) { return crate + 7; }
int fn(enum lambda match) { return match == yield; }
int place(int Place) { return Place + 1; }
int twice(int mro) { return 2 * mro; }
int last(const int *yield, int mro) { return mro ? yield[mro - 1] : 0; }
int sixth(const int *list) { return list[what - 1]; }
int Error(int x) { return x + 8; }
int Kind(int x) { return x + 9; }
int measure(int value, int what) { return value * what; }
struct text text_of(int from) { return (struct text){from, from + 1, from + 2}; }
memory *memory_new(void) { return calloc(1, sizeof(memory)); }
void del(memory *memory) { free(memory); }
