/* Pointer chase through one random cycle that fits the second-level cache: dependent loads. */
#include "bench.h"

enum { NODES = 1 << 13 };
struct node {
    struct node *next;
    uint64_t value;
    char padding[16];
};
static struct node nodes[NODES];

int main(int argc, char **argv)
{
    static uint32_t order[NODES];
    uint32_t scale = bench_scale(argc, argv);
    uint64_t state = 3, sum = 0;
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(bench_random(&state) % (i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
        nodes[order[i]].value = bench_random(&state);
    }
    const struct node *at = &nodes[0];
    for (uint64_t step = 0; step < (uint64_t)scale << 20; step++) {
        sum += at->value;
        at = at->next;
    }
    return bench_finish("chase", sum);
}
