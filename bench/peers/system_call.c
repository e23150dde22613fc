/* Peer: a system call of no work (getppid) between the caller's part and the callee's, both done by the caller: what a
 * kernel that reads the argument pays at least. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include "process.h"

static unsigned char argument[LARGEST_ARGUMENT];

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
    fill(argument, size, value);
    if (syscall(SYS_getppid) <= 0)
        die("getppid");
    return total(argument, size);
}

#include "peer.h"
