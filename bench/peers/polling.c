/* Peer: as semaphore.c, but both sides poll the shared memory, so that the server keeps a CPU busy all the time: the least that a
 * call to another process can take. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include "process.h"

/* Each word that one side writes has a cache line of its own. */
static struct {
    _Alignas(64) atomic_uint called;
    size_t size;
    _Alignas(64) atomic_uint answered;
    uint64_t result;
    _Alignas(64) unsigned char argument[LARGEST_ARGUMENT];
} *channel;
static unsigned calls_made;

/* Until `counter` says `count`. */
static void await(atomic_uint *counter, unsigned count)
{
    while (atomic_load_explicit(counter, memory_order_acquire) != count)
        __builtin_ia32_pause();
}

static void serve(void)
{
    for (unsigned call = 1;; call++) {
        await(&channel->called, call);
        channel->result = total(channel->argument, channel->size);
        atomic_store_explicit(&channel->answered, call, memory_order_release);
    }
}

static void prepare(int server_cpu)
{
    channel = shared(sizeof *channel);
    start_server(server_cpu, serve);
}

static void batch(size_t size)
{
    channel->size = size;
}

static uint64_t call(size_t size, unsigned char value)
{
    fill(channel->argument, size, value);
    atomic_store_explicit(&channel->called, ++calls_made, memory_order_release);
    await(&channel->answered, calls_made);
    return channel->result;
}

#include "peer.h"
