/* ---- memory that the domain can write --------------------------------------------------------------------------------------
 *
 * It may change at any time, also between two looks of the host's: other threads of the program may be in the domain. So there is one way to
 * look: a copy into memory of the host's own, which is judged, and used, and handed out; never the original again. `struct lgs_far` is never
 * complete and addresses inside are numbers, so that C itself refuses every other look; no other file casts them. */

/* Memory that host and domain share, as the host has it. */
struct lgs_far;

static inline struct lgs_far *lgs_far(const void *shared, size_t offset)
{
    return (struct lgs_far *)(uintptr_t)((const char *)shared + offset);
}

/* Copies it, once: the compiler may not go back to the original either. */
static inline void lgs_fetch(void *to, const struct lgs_far *from, size_t size)
{
    memcpy(to, (const void *)from, size);
    __asm__ volatile("" ::: "memory");
}

static inline void lgs_put(struct lgs_far *to, const void *from, size_t size)
{
    memcpy((void *)to, from, size);
}

/* A piece of `from`, if it is another than in `known`; without `known`, in any case. */
static inline void lgs_put_new(struct lgs_far *to, const void *from, const void *known, size_t offset, size_t size)
{
    const char *own = (const char *)from + offset;
    if (!known || memcmp(own, (const char *)known + offset, size) != 0)
        lgs_put(lgs_far(to, offset), own, size);
}

/* An address again, where a mark stands in its place. */
static inline void lgs_put_back(struct lgs_far *at, uint64_t mark, const void *address)
{
    uint64_t now;
    lgs_fetch(&now, at, sizeof now);
    if (now == mark)
        lgs_put(at, address, sizeof now);
}

static inline void lgs_clear(struct lgs_far *to, size_t size)
{
    memset((void *)to, 0, size);
}

/* The range lies in the window: no pointer of the library's is followed anywhere else. */
static inline bool lgs_in_window(uint64_t address, size_t size)
{
    uint64_t offset = address - lgs.window;
    return offset < LGS_WINDOW && size <= LGS_WINDOW - offset;
}

/* What is copied for one call, when it is much: at most a window's worth of bytes, and no longer than the call itself may take. A copy counts as
 * a few bytes more than it has, so that many small ones count, too. */
static __attribute__((noinline, cold)) bool lgs_pause(size_t size)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t at = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (lgs_thread.copied < LGS_PAUSE)
        lgs_thread.copying_since = at;
    lgs_thread.copied += size;
    lgs_thread.next_pause = lgs_thread.copied + LGS_PAUSE;
    bool late = lgs.time_limit && at - lgs_thread.copying_since > lgs.time_limit;
    lgs_thread.exhausted |= late || lgs_thread.copied > LGS_WINDOW;
    return !lgs_thread.exhausted;
}

static inline bool lgs_may_copy(size_t size)
{
    size += LGS_COPY;
    if (__builtin_expect(lgs_thread.copied + size >= lgs_thread.next_pause, 0))
        return lgs_pause(size);
    lgs_thread.copied += size;
    return true;
}

/* A call has returned, or calls back: what is copied from now on counts. */
static inline void lgs_copies_begin(void)
{
    lgs_thread.copied = 0;
    lgs_thread.next_pause = LGS_PAUSE;
    lgs_thread.exhausted = false;
}

static inline bool lgs_read(void *to, uint64_t from, size_t size)
{
    return lgs_in_window(from, size) && lgs_may_copy(size) && (lg_memory_copy(to, (const void *)(uintptr_t)from, size) == 0 ||
           lg_memory_read(lgs.domain, to, (const void *)(uintptr_t)from, size) == LG_OK);
}

static inline bool lgs_write(uint64_t to, const void *from, size_t size)
{
    return lgs_in_window(to, size) && (lg_memory_copy((void *)(uintptr_t)to, from, size) == 0 ||
           lg_memory_write(lgs.domain, (void *)(uintptr_t)to, from, size) == LG_OK);
}
