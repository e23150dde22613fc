/* An API for calls between whose steps something else happens. */
#ifndef STEPS_H
#define STEPS_H

#include <lockgate/annotations.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LG_DOMAIN("steps", memory=32M, time=20000);
LG_ERRORS(int, -1);
LG_ERRORS(int64_t, -1);

/* Handles, and functions that they keep. */
struct steps;
typedef int (*steps_heard)(void *data, const char *text LG_STRING, int n);
struct steps *steps_new(void);
void steps_free(struct steps *steps LG_RELEASE);
int steps_end(struct steps *steps LG_RELEASE, int n);
int steps_twice(struct steps *steps, int n) LG_ERROR(-1);
int steps_set(struct steps *steps, steps_heard function, void *data) LG_ERROR(-1);
int steps_say(struct steps *steps, const char *text LG_STRING, int n) LG_ERROR(-1);
int steps_say_once(steps_heard function, void *data LG_DATA, int n) LG_ERROR(-1);

/* Handles at one place, which is free before the call that frees it returns. */
struct plain;
struct steps *steps_only(void);
void steps_only_free(struct steps *steps LG_RELEASE);
struct plain *plain_only(void);
void plain_only_free(struct plain *plain LG_RELEASE);
int plain_twice(struct plain *plain, int n) LG_ERROR(-1);

/* What waits in the library for steps_go(). */
int steps_waiting(void);
void steps_go(void);
int steps_wait_and_say(steps_heard function, void *data LG_DATA) LG_ERROR(-1);
const uint8_t *steps_wait_and_give(int n) LG_SIZE(n) LG_BORROWED;
const uint8_t *steps_give(int n, int fill) LG_SIZE(n) LG_BORROWED;
const char *steps_wait_and_fail(int wait) LG_BORROWED;
int steps_wait_and_explain(int number) LG_ERRNO LG_ERROR(-1);
int steps_explain(int number) LG_ERRNO LG_ERROR(-1);

/* Buffers of everything. */
double steps_sum(const double *numbers LG_IN LG_SIZE(n), size_t n);
void steps_fill(double *numbers LG_OUT LG_SIZE(n) LG_WRITTEN(n), size_t n);
int64_t steps_count(const int32_t *numbers LG_IN LG_SIZE(n), size_t n);
int64_t steps_bytes(const void *bytes LG_IN LG_SIZE(n), size_t n);
int steps_bools(const bool *bools LG_IN LG_SIZE(n), size_t n);
double steps_matrix(const double *numbers LG_IN LG_SIZE(rows * columns), int rows, int columns);
int steps_named(const char *name LG_IN LG_SIZE(n), size_t n, const uint8_t *bytes LG_IN LG_SIZE(strlen(name)));
float steps_half(float x);

/* A buffer that a function fills. */
typedef int (*steps_fills)(void *data, unsigned char *room LG_OUT LG_SIZE(n), size_t n);
int steps_filled(steps_fills function, void *data LG_DATA, size_t n);

/* Structures of everything. */
struct pair {
    int32_t first, second;
};
int steps_pairs(const struct pair *pairs LG_IN LG_SIZE(n), size_t n);
int steps_swap(struct pair *pairs LG_INOUT LG_SIZE(n), size_t n);
struct large {
    int32_t first;
    char rest[4096] LG_BYTES;
    bool is_last;
};
struct label {
    const char *name;
    int32_t number;
    int16_t more[2];
};
LG_FIELD(label, name, LG_STRING);
int steps_large(struct large *large LG_INOUT) LG_ERROR(-1);
int steps_label(const struct label *label LG_IN) LG_ERROR(-1);

/* One that is remembered. Its end writes to what is left of the buffer. */
struct flow {
    unsigned char *next_out;
    unsigned avail_out;
    const unsigned char *next_in;
    unsigned avail_in;
};
LG_FIELD(flow, next_out, LG_OUT LG_SIZE(avail_out) LG_CURSOR);
LG_FIELD(flow, next_in, LG_IN LG_SIZE(avail_in) LG_CURSOR);
int flow_init(struct flow *flow LG_KEPT) LG_ERROR(-1);
int flow_step(struct flow *flow LG_KEPT, int times, steps_heard function, void *data LG_DATA) LG_ERROR(-1);
int flow_end(struct flow *flow LG_KEPT LG_RELEASE) LG_ERROR(-1);

#endif
