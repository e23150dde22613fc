/* A queue in a shared region, for modules and hosts: one producer and one consumer, which need not
 * trust each other.
 *
 * The host makes the ring (lockgate::grant::Ring; in C, fresh memory of lg_region_new is one) and
 * grants the region to the domain for reading and writing. Both sides learn from arguments where
 * it is, how many elements it has (a power of two) and how large an element is. Neither side reads
 * that from the shared memory, and each keeps its own index private. An impossible index of the
 * other side is an error, so a hostile side can send nonsense but cannot make this one leave the
 * ring. Elements are copied: check the copy, not the ring.
 *
 *     static struct lg_ring orders;
 *     int start(void *at) { return lg_ring_open(&orders, at, 256, sizeof(struct order)); }
 *     int work(void)
 *     {
 *         struct order order;
 *         int got;
 *         while ((got = lg_ring_receive(&orders, &order, -1)) == 1)
 *             handle(&order);
 *         return got;
 *     }
 *
 * lg_ring_send and lg_ring_receive sleep while the ring is full or empty, and wake the other side.
 * lg_ring_push and lg_ring_pop do neither: poll, or wake the other side once for many elements. A
 * host that waits for many things at once has an eventfd told of wakes (lg_region_notify).
 *
 * Plain C11, Linux. Each end is used by one thread at a time.
 */
#ifndef LOCKGATE_RING_H
#define LOCKGATE_RING_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/* Of unistd.h, which declares it only where more than C11 is asked for. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
long syscall(long number, ...);
#pragma GCC diagnostic pop

/* The memory that both sides see. Indices count elements modulo 2^32; each has its own cache line.
 * A side sleeps at its second word, which it sets to 1 first. The other side sets that to 0 when it
 * moves its index on, and wakes the sleeper. */
struct lg_ring_shared {
    _Alignas(64) _Atomic uint32_t head; /* written by the consumer */
    _Atomic uint32_t consumer_sleeps;
    _Alignas(64) _Atomic uint32_t tail; /* written by the producer */
    _Atomic uint32_t producer_sleeps;
    _Alignas(64) unsigned char elements[];
};

/* The words at which the two sides sleep, from the ring's first byte: for lg_region_notify, which
 * counts wakes by domains and by lg_region_wake, but none that the host makes by this header. */
enum {
    LG_RING_CONSUMER = 4,
    LG_RING_PRODUCER = 68,
};

/* One side's own state: keep it where the other side cannot write. */
struct lg_ring {
    struct lg_ring_shared *shared;
    uint32_t capacity;
    uint32_t size; /* of an element, bytes */
    uint32_t index;
};

/* Results, besides 1 for success. */
enum {
    LG_RING_WAIT = 0,     /* full, or empty; for as long as was given */
    LG_RING_CORRUPT = -1, /* the other side's index is impossible: give the ring up */
};

/* Takes one end of a fresh ring. 0, or -1 if capacity is not a power of two, or `at` no multiple of
 * 64. */
static inline int lg_ring_open(struct lg_ring *ring, void *at, uint32_t capacity, uint32_t size)
{
    ring->shared = at;
    ring->capacity = capacity;
    ring->size = size;
    ring->index = 0;
    return capacity != 0 && (capacity & (capacity - 1)) == 0 && (uintptr_t)at % 64 == 0 ? 0 : -1;
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

/* Wakes the other side, if it sleeps at this word. */
static inline void lg_ring_wake(_Atomic uint32_t *sleeps)
{
    /* Either the other side sees the index behind its word, or this one sees the word. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(sleeps, memory_order_relaxed) != 0) {
        atomic_store_explicit(sleeps, 0, memory_order_relaxed);
        syscall(SYS_futex, sleeps, 1 /* FUTEX_WAKE */, INT_MAX, 0, 0, 0);
    }
}

/* Wakes the consumer, if it sleeps for what was pushed. */
static inline void lg_ring_wake_consumer(const struct lg_ring *ring)
{
    lg_ring_wake(&ring->shared->consumer_sleeps);
}

/* Wakes the producer, if it sleeps for the room that was made. */
static inline void lg_ring_wake_producer(const struct lg_ring *ring)
{
    lg_ring_wake(&ring->shared->producer_sleeps);
}

/* Has the producer wake at the next push. 1 if the ring is empty: a descriptor that is told of it
 * can be waited for. LG_RING_WAIT if there is something to pop; LG_RING_CORRUPT. */
static inline int lg_ring_arm_consumer(const struct lg_ring *ring)
{
    atomic_store_explicit(&ring->shared->consumer_sleeps, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t filled = atomic_load_explicit(&ring->shared->tail, memory_order_acquire) - ring->index;
    return filled > ring->capacity ? LG_RING_CORRUPT : filled == 0 ? 1 : LG_RING_WAIT;
}

/* Has the consumer wake at the next pop. 1 if the ring is full; LG_RING_WAIT if there is room;
 * LG_RING_CORRUPT. */
static inline int lg_ring_arm_producer(const struct lg_ring *ring)
{
    atomic_store_explicit(&ring->shared->producer_sleeps, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t filled = ring->index - atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    return filled > ring->capacity ? LG_RING_CORRUPT : filled == ring->capacity ? 1 : LG_RING_WAIT;
}

/* The time in so many nanoseconds, on CLOCK_MONOTONIC. NULL if that is negative: never. */
static inline struct timespec *lg_ring_end(struct timespec *end, int64_t nanoseconds)
{
    if (nanoseconds < 0)
        return NULL;
    syscall(SYS_clock_gettime, 1L /* CLOCK_MONOTONIC */, end);
    end->tv_sec += (time_t)(nanoseconds / 1000000000);
    end->tv_nsec += (long)(nanoseconds % 1000000000);
    if (end->tv_nsec >= 1000000000) {
        end->tv_sec++;
        end->tv_nsec -= 1000000000;
    }
    return end;
}

/* Sleeps until the other side wakes this one. 0 if `end` has come. */
static inline int lg_ring_sleep(_Atomic uint32_t *sleeps, const struct timespec *end)
{
    struct timespec now;
    syscall(SYS_futex, sleeps, 9 /* FUTEX_WAIT_BITSET */, 1, end, 0, 0xffffffffu);
    if (end == NULL)
        return 1;
    syscall(SYS_clock_gettime, 1L, &now);
    return now.tv_sec < end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec < end->tv_nsec);
}

/* Adds a copy of *element and wakes the consumer, asleep while the ring is full: for so many
 * nanoseconds at most, or as long as it takes if that is negative. 1, LG_RING_WAIT or
 * LG_RING_CORRUPT. */
static inline int lg_ring_send(struct lg_ring *ring, const void *element, int64_t nanoseconds)
{
    struct timespec time, *end = NULL;
    int has_end = 0, got;
    while ((got = lg_ring_push(ring, element)) == LG_RING_WAIT && nanoseconds != 0) {
        if (!has_end++)
            end = lg_ring_end(&time, nanoseconds);
        if (lg_ring_arm_producer(ring) == 1 && !lg_ring_sleep(&ring->shared->producer_sleeps, end))
            nanoseconds = 0;
    }
    if (got == 1)
        lg_ring_wake_consumer(ring);
    return got;
}

/* Takes the oldest element into *element and wakes the producer, asleep while the ring is empty, as
 * lg_ring_send. */
static inline int lg_ring_receive(struct lg_ring *ring, void *element, int64_t nanoseconds)
{
    struct timespec time, *end = NULL;
    int has_end = 0, got;
    while ((got = lg_ring_pop(ring, element)) == LG_RING_WAIT && nanoseconds != 0) {
        if (!has_end++)
            end = lg_ring_end(&time, nanoseconds);
        if (lg_ring_arm_consumer(ring) == 1 && !lg_ring_sleep(&ring->shared->consumer_sleeps, end))
            nanoseconds = 0;
    }
    if (got == 1)
        lg_ring_wake_producer(ring);
    return got;
}

#endif
