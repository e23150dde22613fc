/* An API whose names are words of other languages, and of bindings. */
#ifndef WORDS_H
#define WORDS_H

#include <lockgate/annotations.h>

LG_ERRORS(int, -1);
LG_ERRORS(struct text, {0});

struct text {
    int from;
    int type;
    int None;
};

enum lambda { yield = 3, mro = 4 };
/* (Rust takes a variable of such a name for the constant.) */
enum { value = 5, what = 6 };

int def(int in);
int letter(char c);
int None(int lambda);
/* (Of C++, too, where no header with it can be included.) */
#ifndef WORDS_FOR_CPP
int class(const int *list LG_IN LG_SIZE(len), int len);
#endif
int ctypes(int x);
int print(const char *str);
int len(int x) __attribute__((deprecated)); /* the client goes on with it, without a warning */
int isinstance(int x);
int type(int fn);
int self(int crate);
int fn(enum lambda match);
/* Parameters that are called as constants are, and a type of the binding's. */
int place(int Place);
int twice(int mro);
int last(const int *yield LG_IN LG_SIZE(mro), int mro);
/* A size that is a constant. */
int sixth(const int *list LG_IN LG_SIZE(what));
int Error(int x);
int Kind(int x);
int measure(int value, int what);
struct text text_of(int from);

/* A handle that ends by a function of such a name. */
typedef struct memory memory;
memory *memory_new(void);
void del(memory *memory LG_RELEASE);

/* Names that begin with underscores. */
struct hidden {
    int __first;
    const char *name LG_STRING LG_NULLABLE LG_BORROWED;
    int _second;
};
int hidden_sum(const struct hidden *hidden LG_IN);
int hidden_of(int first, struct hidden *hidden LG_OUT);
struct _inner { int __number; };
struct outer { struct _inner inner; };
int inner_of(struct outer *outer LG_OUT);
enum under { _One = 1, __Two = 2 };
int under_of(enum under _);
/* Parameters that are called as variables of the bindings' own could be. */
int size_taken(int list_count, const int *list LG_IN LG_SIZE(len), int len);
int size_filled(int out_count, char *out LG_OUT LG_SIZE(len) LG_WRITTEN(len), int len);
int locals(int outer, int call, int client, int passing, int room, int copy);
int results(int *call LG_OUT, int *result LG_OUT, int *client LG_OUT, enum lambda *lambda LG_OUT);
/* Callbacks that are called as a class of the bindings' own, and fields as their structure. */
typedef int (*closure)(void *user, int closure);
typedef int (*enter)(void *user, int enter);
int run_closure(closure function, void *user);
int run_enter(enter function, void *user);
struct raw { int raw; };
int raw_begin(struct raw *raw LG_KEPT LG_INOUT);
struct named { const char *named LG_STRING; };
int named_length(const struct named *named LG_IN);
/* Functions that Rust's text calls, too. */
int size_of(int x);
int Place(int x);

#endif
