/* A host in C: `capi_host MODULE N` answers each line of its input with the nanoseconds that one call of the module's null_call took, of N. */
#include <lockgate.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    long count = atol(argv[2]);
    lg_domain *domain = lg_domain_new(lg_module_open(argv[1]), NULL);
    number call = (number)lg_function_pointer(lg_bind(domain, "long null_call(long)", LG_INTEGRITY));
    if (!call) {
        fprintf(stderr, "%s\n", lg_last_message());
        return 1;
    }
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        calls(call, count / 10); /* what the other side's turn has put out of caches */
        double start = now();
        if (!calls(call, count))
            return 1;
        printf("%f\n", (now() - start) / (double)count);
        fflush(stdout);
    }
    return 0;
}
