/* Quicksort that compares through a function pointer, as the C library's interface asks. */
#include "bench.h"

enum { COUNT = 1 << 16 };
typedef int compare_fn(const void *, const void *);

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_low_half(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Chosen at run time, so that no compiler turns the calls into direct ones. */
static compare_fn *volatile orders[] = { ascending, by_low_half };

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

static void sort(uint64_t *items, long low, long high, compare_fn *compare)
{
    while (low < high) {
        uint64_t pivot = items[low + (high - low) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (compare(&items[i], &pivot) < 0)
                i++;
            while (compare(&items[j], &pivot) > 0)
                j--;
            if (i <= j)
                swap(&items[i++], &items[j--]);
        }
        if (j - low < high - i) {
            sort(items, low, j, compare);
            low = i;
        } else {
            sort(items, i, high, compare);
            high = j;
        }
    }
}

int main(int argc, char **argv)
{
    static uint64_t items[COUNT];
    uint32_t scale = bench_scale(argc, argv);
    uint64_t state = 7, hash = BENCH_HASH_START;
    for (uint32_t round = 0; round < scale; round++) {
        for (int i = 0; i < COUNT; i++)
            items[i] = bench_random(&state);
        compare_fn *compare = orders[round & 1];
        sort(items, 0, COUNT - 1, compare);
        for (int i = 1; i < COUNT; i++)
            bench_check(compare(&items[i - 1], &items[i]) <= 0, "order");
        hash ^= items[round % COUNT] + items[COUNT / 2];
    }
    return bench_finish("qsort", hash);
}
