/* A queue in a shared region, for modules: one producer and one consumer, which need not trust each
 * other.
 *
 * The host makes the ring (lockgate::grant::Ring) and grants the region to the domain for reading
 * and writing. Both sides learn from arguments where it is, how many elements it has (a power of
 * two) and how large an element is. Neither side reads that from the shared memory, and each keeps
 * its own index private. An impossible index of the other side is an error, so a hostile side can
 * send nonsense but cannot make this one leave the ring. Elements are copied: check the copy, not
 * the ring.
 *
 *     static struct lg_ring orders;
 *     int start(void *at) { return lg_ring_open(&orders, at, 256, sizeof(struct order)); }
 *     int work(void)
 *     {
 *         struct order order;
 *         int got;
 *         while ((got = lg_ring_pop(&orders, &order)) == 1)
 *             handle(&order);
 *         return got;
 *     }
 *
 * Plain C11. No function here waits: poll, or let the host call when there is work.
 */
#ifndef LOCKGATE_RING_H
#define LOCKGATE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The memory that both sides see. Indices count elements modulo 2^32; each has its own cache
 * line. */
struct lg_ring_shared {
    _Alignas(64) _Atomic uint32_t head; /* written by the consumer */
    _Alignas(64) _Atomic uint32_t tail; /* written by the producer */
    _Alignas(64) unsigned char elements[];
};

/* One side's own state: keep it where the other side cannot write. */
struct lg_ring {
    struct lg_ring_shared *shared;
    uint32_t capacity;
    uint32_t size; /* of an element, bytes */
    uint32_t index;
};

/* Results of lg_ring_push and lg_ring_pop, besides 1 for success. */
enum {
    LG_RING_WAIT = 0,     /* full, or empty */
    LG_RING_CORRUPT = -1, /* the other side's index is impossible: give the ring up */
};

/* Takes one end of a fresh ring. 0, or -1 if capacity is not a power of two. */
static inline int lg_ring_open(struct lg_ring *ring, void *at, uint32_t capacity, uint32_t size)
{
    ring->shared = at;
    ring->capacity = capacity;
    ring->size = size;
    ring->index = 0;
    return capacity != 0 && (capacity & (capacity - 1)) == 0 ? 0 : -1;
}

static inline unsigned char *lg_ring_element(const struct lg_ring *ring)
{
    return ring->shared->elements + (uint64_t)(ring->index & (ring->capacity - 1)) * ring->size;
}

/* Adds a copy of *element: 1, LG_RING_WAIT or LG_RING_CORRUPT. */
static inline int lg_ring_push(struct lg_ring *ring, const void *element)
{
    uint32_t filled = ring->index - atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    if (filled > ring->capacity)
        return LG_RING_CORRUPT;
    if (filled == ring->capacity)
        return LG_RING_WAIT;
    memcpy(lg_ring_element(ring), element, ring->size);
    atomic_store_explicit(&ring->shared->tail, ++ring->index, memory_order_release);
    return 1;
}

/* Copies the oldest element to *element and removes it: 1, LG_RING_WAIT or LG_RING_CORRUPT. */
static inline int lg_ring_pop(struct lg_ring *ring, void *element)
{
    uint32_t filled = atomic_load_explicit(&ring->shared->tail, memory_order_acquire) - ring->index;
    if (filled > ring->capacity)
        return LG_RING_CORRUPT;
    if (filled == 0)
        return LG_RING_WAIT;
    memcpy(element, lg_ring_element(ring), ring->size);
    atomic_store_explicit(&ring->shared->head, ++ring->index, memory_order_release);
    return 1;
}

#endif
