/* Peer: a function of the same program, through a pointer: no isolation at all. */
#define _GNU_SOURCE
#include "process.h"

static unsigned char argument[LARGEST_ARGUMENT];

static __attribute__((noipa)) uint64_t byte(unsigned char value)
{
    return value;
}

static __attribute__((noipa)) uint64_t bytes(const unsigned char *from, size_t size)
{
    return total(from, size);
}

static uint64_t (*volatile callee_of_byte)(unsigned char) = byte;
static uint64_t (*volatile callee)(const unsigned char *, size_t) = bytes;

static void prepare(int server_cpu)
{
    (void)server_cpu;
}

static void batch(size_t size)
{
    (void)size;
}

static uint64_t call(size_t size, unsigned char value)
{
    if (size == 1)
        return callee_of_byte(value);
    fill(argument, size, value);
    return callee(argument, size);
}

#include "peer.h"
