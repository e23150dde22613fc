/* The work of `lockgate-bench ipc`, the same behind every kind of call: the caller writes each byte of the argument, the
 * callee reads each byte. */
#ifndef WORK_H
#define WORK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LARGEST_ARGUMENT ((size_t)1 << 20)

/* The caller's part. */
static inline void fill(unsigned char *argument, size_t size, unsigned char value)
{
    memset(argument, value, size);
}

/* The callee's part: the sum of the 64-bit words; bytes that are left over count singly. */
static inline uint64_t total(const unsigned char *argument, size_t size)
{
    const unsigned char *words_end = argument + (size & ~(size_t)7), *end = argument + size;
    uint64_t sum = 0, word;
    for (; argument != words_end; argument += sizeof word) {
        memcpy(&word, argument, sizeof word);
        sum += word;
    }
    for (; argument != end; argument++)
        sum += *argument;
    return sum;
}

/* What the callee must answer. */
static inline uint64_t expected(size_t size, unsigned char value)
{
    return value * UINT64_C(0x0101010101010101) * (size / 8) + value * (size % 8);
}

#endif
