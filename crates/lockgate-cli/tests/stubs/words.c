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

int hidden_sum(const struct hidden *hidden) { return hidden->__first * 10 + hidden->_second; }
int hidden_of(int first, struct hidden *hidden) {
    *hidden = (struct hidden){first, "a name", first + 1};
    return 0;
}
int inner_of(struct outer *outer) {
    outer->inner.__number = 7;
    return 0;
}
int under_of(enum under _) { return _ * 2; }
int size_of(int x) { return x + 10; }
int Place(int x) { return x + 11; }
int size_taken(int list_count, const int *list, int len) { return list_count < 0 ? list[0] : len; }
int size_filled(int out_count, char *out, int len) {
    memset(out, 'a', len);
    return len + 0 * out_count;
}
int locals(int outer, int call, int client, int passing, int room, int copy) {
    return ((((outer * 10 + call) * 10 + client) * 10 + passing) * 10 + room) * 10 + copy;
}
int results(int *call, int *result, int *client, enum lambda *lambda) {
    *call = 1, *result = 2, *client = 3, *lambda = mro;
    return 9;
}
int run_closure(closure function, void *user) { return function(user, 1); }
int run_enter(enter function, void *user) { return function(user, 2); }
int raw_begin(struct raw *raw) { return raw->raw = 5; }
int named_length(const struct named *named) { return (int)strlen(named->named); }
