/* A host in C: `capi_host MODULE N call` answers each line of its input with the nanoseconds that one call of the module's null_call took, of N;
 * with `arena`, that the allocation of 256 bytes in an arena took, their address for the domain and their release; with `lend`, that it took to lend
 * the domain 4 KiB and take them back. */
#include <lockgate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef long (*number)(long);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int calls(number call, long count) {
    long sum = 0;
    int failed = 0;
    for (long i = 0; i < count; i++) {
        sum += call(1);
        failed |= lg_failed();
    }
    return sum == count && !failed;
}

static int blocks(lg_arena *arena, const char *inside, long count) {
    const char *here = lg_arena_address(arena);
    int failed = 0;
    for (long i = 0; i < count; i++) {
        char *block = lg_arena_alloc(arena, 256);
        const char *volatile passed = block ? inside + (block - here) : NULL;
        failed |= !passed || lg_arena_free(arena, block) != LG_OK;
    }
    return !failed;
}

static int loans(lg_domain *domain, lg_region *region, long count) {
    int failed = 0;
    for (long i = 0; i < count; i++) {
        lg_grant *lent = lg_lend(domain, region, LG_READ);
        failed |= !lg_grant_pointer(lent, 0) || lg_grant_free(lent) != LG_OK;
    }
    return !failed;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int arenas = strcmp(argv[3], "arena") == 0, lends = strcmp(argv[3], "lend") == 0;
    long count = atol(argv[2]);
    lg_domain *domain = lg_domain_new(lg_module_open(argv[1]), NULL);
    number call = (number)lg_function_pointer(lg_bind(domain, "long null_call(long)", LG_INTEGRITY));
    lg_arena *arena = lg_arena_new(1 << 20);
    lg_region *region = lg_region_new(4096);
    char *inside = lg_arena_open(arena, domain, LG_READ);
    if (!call || !inside || !region) {
        fprintf(stderr, "%s\n", lg_last_message());
        return 1;
    }
    char line[8];
    double took;
    while (fgets(line, sizeof line, stdin)) {
        for (long turn = count / 10;; turn = count) { /* first what the other side's turn has put out of caches */
            double start = now();
            if (!(arenas ? blocks(arena, inside, turn) : lends ? loans(domain, region, turn) : calls(call, turn)))
                return 1;
            took = now() - start;
            if (turn == count)
                break;
        }
        printf("%f\n", took / (double)count);
        fflush(stdout);
    }
    return 0;
}
