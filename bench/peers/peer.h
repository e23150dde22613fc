/* The frame of a peer: a program that makes one kind of call for `lockgate-bench ipc`.
 *
 * The benchmark starts it on the CPU to measure on, with the CPU of its server as the argument, and writes lines "SIZE COUNT" to its
 * standard input. The peer answers each with a line: the nanoseconds that COUNT calls took together, each with an argument of SIZE bytes.
 * Every result is checked. It ends when its input does.
 *
 * A peer defines before it includes this file:
 *     static void prepare(int server_cpu)                              once: channel and server
 *     static void batch(size_t size)                                   before calls with arguments of another size
 *     static uint64_t call(size_t size, unsigned char value)           one call, the caller's part of the work included
 */
#include <stdio.h>
#include <time.h>

static void calls(size_t size, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        unsigned char value = (unsigned char)i;
        if (call(size, value) != expected(size, value)) {
            fprintf(stderr, "wrong result for %zu bytes of %d\n", size, value);
            exit(1);
        }
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        die("usage: PEER SERVER_CPU");
    prepare(atoi(argv[1]));
    size_t size, last = 0;
    uint64_t count;
    while (scanf("%zu %" SCNu64, &size, &count) == 2) {
        if (size == 0 || size > LARGEST_ARGUMENT)
            die("SIZE out of range");
        if (size != last)
            batch(last = size);
        calls(size, count / 8 + 1); /* wakes the server and warms the caches */
        uint64_t start = now();
        calls(size, count);
        printf("%" PRIu64 "\n", now() - start);
        fflush(stdout);
    }
    return 0;
}
