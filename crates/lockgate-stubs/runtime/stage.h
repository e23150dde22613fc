/* ---- the stage: memory that host and domain share, a stack for each thread --------------------------------------------- */

/* What stands for an object of the program's inside. */
struct lgs_block {
    void *host;
    struct lgs_far *here;
    uint64_t inside;
    size_t size;
};

/* Numbers of a structure: `size` bytes from `offset`, each so long. The last one has none. */
struct lgs_numbers {
    size_t offset, size, each;
};

/* An object of the program's that the call has copied in, and will copy back: of that only what the library has changed, as callbacks may have changed
 * the rest. */
struct lgs_before {
    struct lgs_before *next; /* of the same call */
    void *host;
    size_t size, element;
    const struct lgs_numbers *numbers;
    unsigned mark; /* of the call, from 1 */
    char *bytes;   /* what went in, and as much room, from when a callback begins: until then the program has that */
};

/* The call ends that a stream was given to. */
static void lgs_stream_end(struct lgs_open *open)
{
    pthread_mutex_lock(&lgs.lock);
    if (open)
        open->calls--;
    pthread_mutex_unlock(&lgs.lock);
}

/* It was left in the middle. */
static void lgs_stream_stuck(struct lgs_open *open)
{
    pthread_mutex_lock(&lgs.lock);
    __atomic_store_n(&open->stuck, true, __ATOMIC_RELAXED);
    if (open->kept)
        __atomic_store_n(&lgs.stuck, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lgs.lock);
}

/* Some stream that is kept was left, or may have been: by a frame of this thread's that is gone. */
static inline bool lgs_has_stuck(void)
{
    return LGS_KEEPS_STREAMS && __builtin_expect(lgs_thread.depth || __atomic_load_n(&lgs.stuck, __ATOMIC_RELAXED), 0);
}

/* The handle ends for which streams were kept. The lock is held. */
static void lgs_streams_end(uint64_t handle)
{
    for (struct lgs_open *open = lgs.streams; open; open = open->next)
        if (open->handle == handle)
            open->kept = false;
}

/* The client is unloaded (or the process ends): what threads have left of it stays, as the function is gone that they could call when they end. */
static bool lgs_unloaded;

static __attribute__((destructor)) void lgs_unload(void)
{
    if (lgs_process != &lgs_unmade && !__atomic_exchange_n(&lgs_unloaded, true, __ATOMIC_ACQ_REL))
        pthread_key_delete(lgs_key);
}

/* The thread's end is to be noticed. */
static inline void lgs_watch(void)
{
    if (__builtin_expect(!lgs_thread.watched && !lgs_unloaded, 0))
        lgs_thread.watched = pthread_setspecific(lgs_key, &lgs_thread) == 0;
}

#define LGS_HEAD(owned) ((union lgs_head *)(owned)-1)

/* The call has made no handle for which the library would remember it. */
static void lgs_kept_left(struct lgs_kept *kept)
{
    kept->next = 0;
    pthread_mutex_lock(&lgs.lock);
    lgs_kept_end(&kept);
    pthread_mutex_unlock(&lgs.lock);
}

static __attribute__((noinline, cold)) void lgs_free_owned(union lgs_head **owned)
{
    while (*owned) {
        union lgs_head *next = (*owned)->next;
        if ((*owned)->stream)
            lgs_stream_end((*owned)->stream);
        if ((*owned)->inside_of)
            lgs_stream_stuck((*owned)->inside_of);
        if ((*owned)->scope)
            lgs_scope_left((*owned)->scope);
        if ((*owned)->piece)
            lgs_piece_end((*owned)->piece);
        if ((*owned)->kept)
            lgs_kept_left((*owned)->kept);
        if ((*owned)->in_call)
            lgs_kept_free((*owned)->in_call);
        free((*owned)->base);
        *owned = next;
    }
}

/* The innermost frame is no more. */
static inline void lgs_pop(void)
{
    struct lgs_mark *mark = &lgs_thread.marks[lgs_thread.depth - 1];
    bool more = __builtin_expect(((uintptr_t)mark->owned | mark->data | mark->out | mark->inside) != 0, 0);
    /* (In a child none of that is this frame's.) */
    if (more)
        lgs_notice_child();
    lgs_thread.depth--;
    lgs_thread.block = mark->block;
    lgs_thread.used = mark->used;
    lgs_thread.own_used = mark->own;
    if (more) {
        if (mark->out)
            __atomic_fetch_sub(&lgs.out, 1, __ATOMIC_ACQ_REL);
        if (mark->data)
            lgs_data_end_of_call(&mark->data);
        lgs_free_owned(&mark->owned);
        if (mark->inside)
            pthread_rwlock_unlock(&lgs_running);
    }
}

/* The calling thread's own stack, as libc knows it. */
static __attribute__((noinline, cold)) void lgs_stack_find(void)
{
    pthread_attr_t attributes;
    void *low = 0;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    lgs_thread.stack = (uintptr_t)low;
    lgs_thread.stack_size = size;
}

static bool lgs_in_one_mapping(uintptr_t one, uintptr_t other)
{
    char text[512];
    uintptr_t range[2] = {0, 0};
    unsigned number = 0; /* of the line: which of the two, or none */
    bool found = false;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t got; maps >= 0 && !found && (got = read(maps, text, sizeof text)) > 0;)
        for (ssize_t at = 0; at < got; at++) {
            unsigned char c = (unsigned char)text[at];
            unsigned digit = c >= '0' && c <= '9' ? c - 48u : c >= 'a' && c <= 'f' ? c - 87u : 16;
            if (c == '\n') {
                number = 0;
                range[0] = range[1] = 0;
            } else if (number < 2 && digit < 16) {
                range[number] = range[number] << 4 | digit;
            } else if (number < 2 && ++number == 2) {
                found |= one - range[0] < range[1] - range[0] && other - range[0] < range[1] - range[0];
            }
        }
    if (maps >= 0)
        close(maps);
    return found;
}

/* A frame that is not deeper than the one `here` is gone, if both are on one stack: a signal handler's own, or a coroutine's, may lie anywhere, and
 * what it has interrupted goes on. (What cannot be told stays, until its thread ends.) */
static __attribute__((noinline, cold)) bool lgs_is_gone(uintptr_t frame, uintptr_t here)
{
    struct {
        void *at;
        int flags;
        size_t size;
    } alternate = {0, 0, 0};
    if (frame == here)
        return true;
    /* (The kernel's word: the program may have been told of another one.) */
    if (syscall(LGS_SIGALTSTACK, (void *)0, &alternate) != 0 || alternate.flags & LGS_ON_STACK)
        return false;
    bool own = frame - lgs_thread.stack < lgs_thread.stack_size, own_here = here - lgs_thread.stack < lgs_thread.stack_size;
    return own == own_here && (own || lgs_in_one_mapping(frame, here));
}

/* Frames are compared, not variables: a sanitizer may have those elsewhere. */
static inline bool lgs_was_left(const struct lgs_call *c)
{
    uintptr_t frame = lgs_thread.depth ? lgs_thread.marks[lgs_thread.depth - 1].frame : UINTPTR_MAX;
    return __builtin_expect(frame <= c->frame, 0) && lgs_is_gone(frame, c->frame);
}

/* Forgets frames that the program has left by longjmp. */
static __attribute__((noinline, cold)) void lgs_pop_left(const struct lgs_call *c)
{
    while (lgs_was_left(c))
        lgs_pop();
}

/* Where this frame's part of the stage begins. */
static __attribute__((noinline)) void lgs_mark(struct lgs_call *c)
{
    if (__builtin_expect(lgs_was_left(c), 0))
        lgs_pop_left(c);
    if (__builtin_expect(lgs_thread.depth == LGS_DEPTH, 0)) {
        lgs_fail(c, LG_STUB_MEMORY, "call", "nested too deep");
        return;
    }
    if (__builtin_expect(!lgs_thread.stack_size, 0))
        lgs_stack_find();
    c->marked = true;
    lgs_thread.marks[lgs_thread.depth++] = (struct lgs_mark){
        .call = c, .frame = c->frame, .used = lgs_thread.used, .own = lgs_thread.own_used, .block = lgs_thread.block,
        .calls_back = c->calls_back, .inside = c->inside};
    /* (However the frame ends, the mark does.) */
    c->inside = false;
}

/* The same before something is put there. */
static inline void lgs_need_mark(struct lgs_call *c)
{
    if (!c->marked && !c->failed)
        lgs_mark(c);
}

/* The frame ends, and with it those in it that the program has left. */
static inline void lgs_unmark(struct lgs_call *c)
{
    if (__builtin_expect(c->marked && lgs_thread.depth && lgs_thread.marks[lgs_thread.depth - 1].call == c, 1))
        lgs_pop();
    else if (__builtin_expect(lgs_was_left(c), 0))
        lgs_pop_left(c);
}

static void lgs_stage_free(void)
{
    for (unsigned i = 0; i < lgs_thread.count; i++)
        lgs_region_free(&lgs_thread.blocks[i]);
    lgs_thread.count = 0;
    lgs_thread.block = 0;
    lgs_thread.used = 0;
}

/* The thread ends, perhaps within a callback: so do its calls, and what was given for them. */
static void lgs_leave_thread(void *unused)
{
    (void)unused;
    lgs_notice_child();
    while (lgs_thread.depth)
        lgs_pop();
    lgs_data_spare_free();
    lgs_mirror_free();
    lgs_asides_free();
    lgs_pieces_left();
    pthread_mutex_lock(&lgs.lock);
    lgs_lent_free(&lgs_thread.lent);
    pthread_mutex_unlock(&lgs.lock);
    lgs_stage_free();
    free(lgs_thread.own);
    lgs_thread.own = 0;
    lgs_thread.watched = false;
}

/* Another block, with room for `size` at least. */
static bool lgs_more(struct lgs_call *c, size_t size)
{
    size_t wanted = lgs_thread.count ? lgs_thread.blocks[lgs_thread.count - 1].size * 2 : LGS_STAGE;
    while (wanted < size)
        wanted *= 2;
    struct lgs_stage *block = &lgs_thread.blocks[lgs_thread.count];
    if (lgs_thread.count == LGS_BLOCKS || !lgs_region_new(wanted, block)) {
        lgs_fail(c, LG_STUB_MEMORY, "arguments", "no memory that can be shared with the domain");
        return false;
    }
    lgs_watch();
    lgs_thread.block = lgs_thread.count++;
    lgs_thread.used = 0;
    return true;
}

/* Room for `size` bytes until the call ends. */
static struct lgs_block lgs_room(struct lgs_call *c, void *host, size_t size)
{
    struct lgs_block block = {host, 0, 0, size};
    lgs_need_mark(c);
    if (c->failed)
        return block;
    while (lgs_thread.count == 0 || lgs_thread.blocks[lgs_thread.block].size - lgs_thread.used < size) {
        if (lgs_thread.block + 1 < lgs_thread.count) {
            lgs_thread.block++;
            lgs_thread.used = 0;
        } else if (!lgs_more(c, size)) {
            return block;
        }
    }
    struct lgs_stage *stage = &lgs_thread.blocks[lgs_thread.block];
    block.here = lgs_far(stage->here, lgs_thread.used);
    block.inside = stage->inside + lgs_thread.used;
    lgs_thread.used += (size + 15) & ~(size_t)15;
    return block;
}

/* What is at a place, all of one time: another thread may give the place to other memory meanwhile. */
static struct lgs_shared lgs_shared_at(size_t place)
{
    const struct lgs_shared *at = &lgs.shared[place];
    unsigned version = __atomic_load_n(&at->version, __ATOMIC_ACQUIRE);
    struct lgs_shared shared = {
        .here = __atomic_load_n(&at->here, __ATOMIC_RELAXED),
        .inside = __atomic_load_n(&at->inside, __ATOMIC_RELAXED),
        .size = __atomic_load_n(&at->size, __ATOMIC_RELAXED),
        .writable = __atomic_load_n(&at->writable, __ATOMIC_RELAXED),
        .arena = __atomic_load_n(&at->arena, __ATOMIC_RELAXED),
    };
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__builtin_expect(version & 1 || __atomic_load_n(&at->version, __ATOMIC_RELAXED) != version, 0)) {
        pthread_mutex_lock(&lgs.lock);
        shared = *at;
        pthread_mutex_unlock(&lgs.lock);
    }
    return shared;
}

/* A buffer that the library has, too: nothing, if it has not. */
static struct lgs_block lgs_shared_block(const void *host, size_t size, int flags)
{
    for (size_t i = 0; i < __atomic_load_n(&lgs.shared_count, __ATOMIC_ACQUIRE); i++) {
        const struct lgs_shared shared = lgs_shared_at(i);
        size_t offset = (size_t)((const char *)host - shared.here);
        if (offset < shared.size && size <= shared.size - offset && (shared.writable || !(flags & LGS_WRITES)))
            return (struct lgs_block){(void *)(uintptr_t)host, lgs_far(host, 0), shared.inside + offset, size};
    }
    return (struct lgs_block){0, 0, 0, 0};
}

/* The library can change what is there, also before it is looked at for the first time. */
static __attribute__((noinline, cold)) void lgs_refuse_shared(struct lgs_call *c, const void *host, size_t size, const char *what)
{
    for (size_t i = 0; host && i < __atomic_load_n(&lgs.shared_count, __ATOMIC_ACQUIRE); i++) {
        const struct lgs_shared shared = lgs_shared_at(i);
        uintptr_t from = (uintptr_t)shared.here, at = (uintptr_t)host;
        /* (An arena may be open for another library that writes there.) */
        if ((shared.writable || shared.arena) && at < from + shared.size && from < at + (size ? size : 1))
            lgs_fail(c, LG_STUB_POINTER, what, "it lies in memory that a library can change: only buffers may");
    }
}

/* Sizes, pointers and strings of the program's are its own. */
static inline void lgs_private(struct lgs_call *c, const void *host, size_t size, const char *what)
{
    if (__builtin_expect(lgs.shared_count != 0, 0))
        lgs_refuse_shared(c, host, size, what);
}

/* An object of the program's, copied in if the library reads it. */
static struct lgs_block lgs_block(struct lgs_call *c, const void *host, size_t size, int flags)
{
    struct lgs_block none = {0, 0, 0, 0};
    if (c->failed || !host)
        return none;
    if (flags & LGS_SHAREABLE && __builtin_expect(lgs.shared_count != 0, 0)) {
        struct lgs_block shared = lgs_shared_block(host, size, flags);
        if (shared.here)
            return shared;
    }
    struct lgs_block block = lgs_room(c, (void *)(uintptr_t)host, size + !!(flags & LGS_TEXT));
    block.size = size;
    if (c->failed)
        return none;
    if (flags & LGS_READS)
        lgs_put(block.here, host, size);
    if (flags & LGS_ZEROS)
        lgs_clear(block.here, size);
    if (flags & LGS_TEXT) /* a string even if the library writes nothing */
        lgs_clear(lgs_far(block.here, flags & LGS_READS ? size : 0), 1);
    return block;
}

/* A buffer that is not copied (LG_SHARED): whether a block is there, how long it is and what the library may do with it say the arena's books, which the
 * library does not reach. */
static inline struct lgs_block lgs_arena_block(struct lgs_call *c, const void *host, size_t size, int flags, const char *what)
{
    struct lgs_block block = {0, 0, 0, 0};
    if (c->failed || !host)
        return block;
    void *inside = lg_arena_pointer(lgs.domain, host, size, flags & LGS_WRITES ? LG_READ_WRITE : LG_READ);
    if (inside)
        block = (struct lgs_block){(void *)(uintptr_t)host, lgs_far(host, 0), (uint64_t)(uintptr_t)inside, size};
    else
        lgs_fail(c, LG_STUB_POINTER, what, lg_last_message());
    return block;
}

/* Two objects of the program's of which one is read and changed. If they are one (`alike`: neither is more than its bytes), the library has one, too; if they
 * overlap otherwise, the call fails, unless the library has them where the program has them. */
static inline void lgs_one_object(struct lgs_call *c, struct lgs_block *one, struct lgs_block *other, bool alike, const char *what)
{
    uintptr_t at = (uintptr_t)one->host, also = (uintptr_t)other->host;
    if (__builtin_expect(at >= also + other->size || also >= at + one->size || !at || !also || one->inside - at == other->inside - also, 1))
        return;
    if (alike && at == also && one->size == other->size)
        *other = *one;
    else
        lgs_fail(c, LG_STUB_POINTER, what, "it overlaps with what another argument leads to, and the library changes it: the library would have two copies");
}

/* A number that the library sets, and that sizes speak of: 0 before the call, and there even if the program does not ask for it. */
static inline struct lgs_block lgs_number_there(struct lgs_call *c, const void *host, size_t size)
{
    if (host)
        return lgs_block(c, host, size, LGS_ZEROS);
    struct lgs_block own = lgs_room(c, 0, size);
    if (!c->failed)
        lgs_clear(own.here, size);
    return own;
}

/* What the library wrote, copied back. */
static inline void lgs_back(const struct lgs_block *block, size_t size)
{
    if (block->host && size && block->here != lgs_far(block->host, 0))
        lgs_fetch(block->host, block->here, size < block->size ? size : block->size);
}

/* The call will copy the object back. `numbers` are those in an element of that size, or null: it is one. */
static inline void lgs_goes_back(struct lgs_call *c, struct lgs_before *before, const struct lgs_block *block, size_t element, const struct lgs_numbers *numbers)
{
    if (c->failed || !block->here || block->here == lgs_far(block->host, 0))
        return;
    *before = (struct lgs_before){.next = c->before, .host = block->host, .size = block->size, .element = element, .numbers = numbers, .mark = lgs_thread.depth};
    c->before = before;
}

/* A callback of the call begins, the first one: the program has what went in, and may change it. */
static __attribute__((noinline, cold)) void lgs_keep_before(struct lgs_call *c)
{
    for (struct lgs_before *before = c->before; before && !before->bytes; before = before->next) {
        /* (With room for an element that is larger than a piece.) */
        union lgs_head *owned = malloc(sizeof *owned + before->size + (before->element > LGS_AT_ONCE ? before->element : 0));
        if (!owned) {
            lgs_fail(c, LG_STUB_MEMORY, "callback", "no memory for what the call has been passed");
            return;
        }
        struct lgs_mark *mark = &lgs_thread.marks[before->mark - 1];
        *owned = (union lgs_head){.next = mark->owned, .base = owned};
        mark->owned = owned;
        before->bytes = memcpy(owned + 1, before->host, before->size);
    }
}

/* Of an element those numbers that the library has changed. */
static void lgs_give_numbers(const struct lgs_numbers *numbers, char *host, const char *now, const char *was)
{
    for (; numbers->size; numbers++) {
        /* (Most of a long array is as it was.) */
        size_t each = numbers->each, most = each < 64 ? 64 - 64 % each : each, end = numbers->offset + numbers->size;
        for (size_t at = numbers->offset, many; at < end; at += many) {
            many = most < end - at ? most : end - at;
            if (memcmp(now + at, was + at, many) == 0)
                continue;
            for (size_t i = at; i < at + many; i += each)
                if (memcmp(now + i, was + i, each) != 0)
                    memcpy(host + i, now + i, each);
        }
    }
}

/* Of `size` bytes only what the library has changed, a number as a whole: as they were fetched, or from the block. */
static __attribute__((noinline, cold)) void lgs_give_changed(const struct lgs_before *before, const char *fetched, const struct lgs_block *block, size_t size)
{
    char local[LGS_AT_ONCE], *room = before->element > sizeof local ? before->bytes + before->size : local;
    size_t most = before->element > sizeof local ? before->element : sizeof local - sizeof local % before->element;
    const struct lgs_numbers whole[] = {{0, before->element, before->element}, {0, 0, 0}};
    for (size_t at = 0, piece; at < size; at += piece) {
        const char *now = fetched ? fetched + at : room, *was = before->bytes + at;
        char *host = (char *)before->host + at;
        piece = most < size - at ? most : size - at;
        if (!fetched)
            lgs_fetch(room, lgs_far(block->here, at), piece);
        if (memcmp(now, was, piece) == 0)
            continue;
        if (memcmp(host, was, piece) == 0)
            memcpy(host, now, piece);
        else
            for (size_t i = 0; i < piece; i += before->element)
                lgs_give_numbers(before->numbers ? before->numbers : whole, host + i, now + i, was + i);
    }
}

/* What was fetched goes to the program. */
static inline void lgs_give(const struct lgs_before *before, void *host, const void *now, size_t size)
{
    if (LGS_CALLS_BACK && __builtin_expect(before->bytes != 0, 0))
        lgs_give_changed(before, now, 0, size);
    else
        memcpy(host, now, size);
}

/* The same of a block, which is fetched here. */
static inline void lgs_back_changed(const struct lgs_before *before, const struct lgs_block *block, size_t size)
{
    if (LGS_CALLS_BACK && __builtin_expect(before->bytes != 0, 0))
        lgs_give_changed(before, 0, block, size < before->size ? size : before->size);
    else
        lgs_back(block, size);
}

/* Zeros of the thread's own room, until the innermost mark ends; null if there are not so many. */
static inline char *lgs_own_room(size_t size)
{
    if (LGS_SANITIZED || size > LGS_OWN - lgs_thread.own_used)
        return 0;
    if (__builtin_expect(!lgs_thread.own, 0)) {
        void *own;
        if (posix_memalign(&own, 64, LGS_OWN) != 0)
            return 0;
        lgs_thread.own = own;
    }
    char *at = lgs_thread.own + lgs_thread.own_used;
    lgs_thread.own_used += (size + 15) & ~(size_t)15;
    return memset(at, 0, size);
}

/* Host memory, zeros, until the call ends, which the library cannot reach. */
static void *lgs_own_aligned(struct lgs_call *c, size_t size, size_t alignment, const char *what)
{
    lgs_need_mark(c);
    lgs_watch();
    size_t slack = alignment - LGS_ALIGNMENT;
    size_t whole = sizeof(union lgs_head) + slack + size;
    char *room = c->failed ? 0 : lgs_own_room(whole), *base = c->failed || room ? 0 : calloc(1, whole);
    if (!room && !base) {
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
        return 0;
    }
    char *at = (room ? room : base) + sizeof(union lgs_head);
    at += -(uintptr_t)at % alignment;
    union lgs_head **of_frame = &lgs_thread.marks[lgs_thread.depth - 1].owned;
    LGS_HEAD(at)->base = base;
    LGS_HEAD(at)->next = *of_frame;
    *of_frame = LGS_HEAD(at);
    return at;
}

static inline void *lgs_own(struct lgs_call *c, size_t size, const char *what)
{
    return lgs_own_aligned(c, size, LGS_ALIGNMENT, what);
}

/* The library ends what the program got as the piece at `host`, if it is one: when the call has ended, whatever it says. */
static void lgs_ends(struct lgs_call *c, const void *host, const char *what)
{
    void *ending = c->failed || !host ? 0 : lgs_own(c, 0, what);
    if (ending)
        LGS_HEAD(ending)->piece = host;
}

/* The string that the library wrote, of at most `length` bytes, and how many it has, its end included; or (`whole`) with all that stands behind its end.
 * `own`: the program's may be there still. */
static char *lgs_text_back(struct lgs_call *c, const struct lgs_block *block, size_t *length, bool whole, bool own, const char *what)
{
    size_t most = *length;
    *length = 0;
    if (!block->host || !most)
        return 0;
    char *copy = lgs_own(c, most + 1, what);
    const char *end = 0;
    for (size_t at = 0, piece = 256; copy && at < most && (whole || !end); at += piece) {
        piece = piece < most - at ? piece : most - at;
        lgs_fetch(copy + at, lgs_far(block->here, at), piece);
        if (!end)
            end = memchr(copy + at, 0, piece);
    }
    if (end) {
        *length = whole ? most : (size_t)(end - copy) + 1;
        return copy;
    }
    if (!own || !copy || memcmp(copy, block->host, most) != 0)
        lgs_fail(c, LG_STUB_STRING, what, "the library wrote a string without an end");
    return 0;
}

/* Bytes of text that ends with a zero, or after `most` characters. */
static inline size_t lgs_text_size(const char *text, size_t most)
{
    const char *end = memchr(text, 0, most);
    return end ? (size_t)(end - text) + 1 : most;
}

/* A string of the program's, copied in. */
static inline struct lgs_block lgs_string_block(struct lgs_call *c, const char *text)
{
    lgs_private(c, text, 1, "string");
    return lgs_block(c, text, text && !c->failed ? strlen(text) + 1 : 1, LGS_READS);
}

static inline uint64_t lgs_string(struct lgs_call *c, const char *text)
{
    return lgs_string_block(c, text).inside;
}

/* A place within an object that went in, as the program knows it: the beginning of an element, with `size` bytes behind it. */
static void *lgs_within(struct lgs_call *c, uint64_t address, const struct lgs_block *block, size_t size, size_t element, const char *what)
{
    if (c->failed || !address)
        return 0;
    uint64_t offset = address - block->inside;
    if (!block->host || offset > block->size || size > block->size - offset || offset % element) {
        lgs_fail(c, LG_STUB_POINTER, what, "the library returned a pointer beyond the object that it was given");
        return 0;
    }
    return (char *)block->host + offset;
}
