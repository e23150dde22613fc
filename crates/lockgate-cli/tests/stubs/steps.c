#include "steps.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct steps {
    steps_heard function;
    void *data;
};

struct steps *steps_new(void) { return calloc(1, sizeof(struct steps)); }
void steps_free(struct steps *steps) { free(steps); }

int steps_end(struct steps *steps, int n)
{
    free(steps);
    return n;
}
int steps_twice(struct steps *steps, int n) { return steps ? 2 * n : -1; }

int steps_set(struct steps *steps, steps_heard function, void *data)
{
    steps->function = function;
    steps->data = data;
    return 0;
}

int steps_say(struct steps *steps, const char *text, int n)
{
    return steps->function(steps->data, text, n);
}

int steps_say_once(steps_heard function, void *data, int n)
{
    return function(data, "once", n);
}

static volatile int waiting, told;

int steps_waiting(void) { return waiting; }
void steps_go(void) { told = 1; }

static void wait_for_it(void)
{
    told = 0;
    waiting = 1;
    while (!told)
        ;
    waiting = 0;
}

int steps_wait_and_say(steps_heard function, void *data)
{
    wait_for_it();
    return function(data, "said", 1);
}

static struct steps only;

struct steps *steps_only(void) { return &only; }
void steps_only_free(struct steps *steps) { (void)steps, wait_for_it(); }
struct plain *plain_only(void)
{
    static long plain;
    return (struct plain *)&plain;
}

void plain_only_free(struct plain *plain) { (void)plain, wait_for_it(); }
int plain_twice(struct plain *plain, int n) { return plain ? 2 * n : -1; }

static uint8_t memory[1 << 16];

const uint8_t *steps_give(int n, int fill)
{
    memset(memory, fill, sizeof memory);
    return n < 0 ? (const uint8_t *)16 : memory;
}

const uint8_t *steps_wait_and_give(int n)
{
    wait_for_it();
    return steps_give(n, 'o');
}

const char *steps_wait_and_fail(int wait)
{
    if (wait)
        wait_for_it();
    return (const char *)16;
}

int steps_explain(int number)
{
    errno = number;
    return -1;
}

int steps_wait_and_explain(int number)
{
    wait_for_it();
    return steps_explain(number);
}

double steps_sum(const double *numbers, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

void steps_fill(double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = i;
}

int64_t steps_count(const int32_t *numbers, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

int64_t steps_bytes(const void *bytes, size_t n)
{
    return bytes ? n : 0;
}

int steps_bools(const bool *bools, size_t n)
{
    int set = 0;
    for (size_t i = 0; i < n; i++)
        set += bools[i];
    return set;
}

double steps_matrix(const double *numbers, int rows, int columns) { return steps_sum(numbers, (size_t)rows * columns); }

int steps_named(const char *name, size_t n, const uint8_t *bytes)
{
    (void)bytes;
    return (int)strnlen(name, n);
}

float steps_half(float x) { return x / 2; }

int steps_filled(steps_fills function, void *data, size_t n)
{
    uint8_t room[64] = {0};
    int result = function(data, room, n), sum = 0;
    for (size_t i = 0; i < sizeof room; i++)
        sum += room[i];
    return result < 0 ? result : sum;
}

int steps_pairs(const struct pair *pairs, size_t n)
{
    (void)pairs;
    return (int)n;
}

int steps_swap(struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct pair){pairs[i].second, pairs[i].first};
    return (int)n;
}

int steps_large(struct large *large)
{
    memset(large->rest, 'l', sizeof large->rest);
    return ++large->first;
}

int steps_label(const struct label *label)
{
    return (int)strlen(label->name) + label->number + label->more[0] + label->more[1];
}

int flow_init(struct flow *flow)
{
    (void)flow;
    return 0;
}

int flow_step(struct flow *flow, int times, steps_heard function, void *data)
{
    int moved = 0;
    for (; moved < times && flow->avail_in && flow->avail_out; moved++) {
        *flow->next_out++ = *flow->next_in++;
        flow->avail_in--;
        flow->avail_out--;
    }
    return function ? function(data, "moved", moved) : moved;
}

int flow_end(struct flow *flow)
{
    if (flow->next_out)
        memset(flow->next_out, 'X', flow->avail_out);
    return 0;
}
