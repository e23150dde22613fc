/* ---- the mirrors: what the library gives out, copied once ------------------------------------------------------------------ */

/* Behind a mirror: which of its pages something was copied to. */
struct lgs_pages {
    size_t count;
    bool taken[LGS_WINDOW / 4096];
};

/* (The program may hear later that something is larger than what was copied: it finds zeros then, whatever is behind the mirror.) */
#define LGS_PAGES (LGS_WINDOW * 2)
#define LGS_MIRROR (LGS_PAGES + sizeof(struct lgs_pages))

/* Of a mirror that another thread gets: what its own was given is gone. */
static void lgs_objects_free(const char *mirror)
{
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        for (struct lgs_object **at = &lgs.objects[i]; *at;) {
            struct lgs_object *object = *at;
            if (object->mirror != mirror) {
                at = &object->next;
                continue;
            }
            *at = object->next;
            lgs.object_bytes -= sizeof *object + object->size;
            free(object->bytes);
            free(object);
        }
}

/* This thread's mirror. What other threads are given lies elsewhere, so that the library cannot change under the program's eyes what it
 * looks at. Those of threads that have ended stay as they are until many others have; then the oldest is used again. */
static __attribute__((noinline, cold)) char *lgs_mirror_new(void)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_mirror *mirror = 0;
    unsigned resting = 0;
    for (struct lgs_mirror *other = lgs.mirrors; other; other = other->next) {
        resting += other->ended != 0;
        if (other->ended && (!mirror || other->ended < mirror->ended))
            mirror = other;
    }
    if (resting <= LGS_MIRRORS)
        mirror = 0;
    if (mirror) {
        lgs_objects_free(mirror->at);
        madvise(mirror->at, LGS_MIRROR, MADV_DONTNEED);
    }
    if (!mirror && (mirror = calloc(1, sizeof *mirror))) {
        if ((mirror->at = lgs_reserve(LGS_MIRROR, PROT_READ | PROT_WRITE))) {
            mirror->next = lgs.mirrors;
            lgs.mirrors = mirror;
        } else {
            free(mirror);
            mirror = 0;
        }
    }
    if (mirror)
        mirror->ended = 0;
    pthread_mutex_unlock(&lgs.lock);
    if (mirror)
        lgs_watch();
    return lgs_thread.mirror = mirror ? mirror->at : 0;
}

static inline char *lgs_mirror(struct lgs_call *c, const char *what)
{
    char *mirror = lgs_thread.mirror;
    if (__builtin_expect(!mirror, 0) && !(mirror = lgs_mirror_new()))
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory for copies of what the library gives");
    return mirror;
}

/* The thread ends. */
static void lgs_mirror_free(void)
{
    pthread_mutex_lock(&lgs.lock);
    for (struct lgs_mirror *mirror = lgs.mirrors; mirror; mirror = mirror->next)
        if (mirror->at == lgs_thread.mirror)
            mirror->ended = ++lgs.ends;
    pthread_mutex_unlock(&lgs.lock);
    lgs_thread.mirror = 0;
}

/* Why a copy was not made. */
static __attribute__((noinline, cold)) void lgs_unread(struct lgs_call *c, enum lg_stub_kind kind, const char *what, const char *reason)
{
    if (lgs_thread.exhausted)
        lgs_fail(c, LG_STUB_LENGTH, what, "the library gives more than may be copied for one call, or for longer than a call may last");
    else
        lgs_fail(c, kind, what, reason);
}

/* The offset of a pointer of the library's, if `size` bytes there are within the window. */
static inline bool lgs_offset(struct lgs_call *c, uint64_t address, size_t size, uint32_t *offset, const char *what)
{
    *offset = (uint32_t)address;
    if (__builtin_expect(!lgs_in_window(address, size), 0)) {
        lgs_fail(c, LG_STUB_POINTER, what, "the library returned a pointer outside its domain");
        return false;
    }
    return true;
}

static bool lgs_null(struct lgs_call *c, int flags, const char *what)
{
    if (!(flags & LGS_NULLABLE))
        lgs_fail(c, LG_STUB_NULL, what, "the library returned a null pointer");
    return true;
}

/* A pointer to elements of a type: the copy has the same offset, and the program's instructions may fault where they do not belong. */
static inline uint64_t lgs_aligned(struct lgs_call *c, uint64_t address, size_t alignment, const char *what)
{
    if (__builtin_expect(address & (alignment - 1), 0))
        lgs_fail(c, LG_STUB_POINTER, what, "the library returned a pointer that is not aligned for its type");
    return address;
}

static __attribute__((noinline, cold)) bool lgs_mirror_grows(struct lgs_call *c, struct lgs_pages *pages, size_t page, const char *what)
{
    if (pages->count >= lgs.memory_limit / 4096) {
        lgs_fail(c, LG_STUB_MEMORY, what, "the library gives out memory at more places than it may have memory");
        return false;
    }
    pages->count++;
    return pages->taken[page] = true;
}

/* The mirror's pages for `size` bytes. They stay as the program may look at them, and count as the library's own do: whatever addresses it gives, the program
 * has no more copies of its memory for each thread than it may have memory. */
static inline bool lgs_mirror_takes(struct lgs_call *c, char *mirror, size_t offset, size_t size, const char *what)
{
    struct lgs_pages *pages = (void *)(mirror + LGS_PAGES);
    if (__builtin_expect(size > lgs.memory_limit, 0)) {
        lgs_fail(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
        return false;
    }
    for (size_t page = offset / 4096; page * 4096 < offset + size; page++)
        if (__builtin_expect(!pages->taken[page], 0) && !lgs_mirror_grows(c, pages, page, what))
            return false;
    return true;
}

/* `size` bytes of the library's. */
static void *lgs_memory(struct lgs_call *c, uint64_t address, size_t size, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)) || !lgs_offset(c, address, size, &offset, what))
        return 0;
    char *mirror = lgs_mirror(c, what);
    if (!mirror || !lgs_mirror_takes(c, mirror, offset, size, what))
        return 0;
    char *copy = mirror + offset;
    if (flags & LGS_READS && !lgs_read(copy, address, size)) {
        lgs_unread(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
        return 0;
    }
    lgs_thread.given = size;
    return copy;
}

/* What the program wrote at `host` goes back. */
static void lgs_memory_back(struct lgs_call *c, uint64_t address, const void *host, size_t size, const char *what)
{
    if (!c->failed && address && size && !(host && lgs_write(address, host, size)))
        lgs_fail(c, LG_STUB_POINTER, what, "the library gave a buffer that it does not have");
}

/* What the program is to fill is there, each page of it, and is no more than the library may have. */
static bool lgs_has(struct lgs_call *c, uint64_t address, size_t size, const char *what)
{
    char byte;
    if (size > lgs.memory_limit) {
        lgs_fail(c, LG_STUB_LENGTH, what, "nothing that the library has is as large");
        return false;
    }
    for (size_t at = 0; at < size; at += 4096 - (address + at) % 4096)
        if (!lgs_read(&byte, address + at, 1)) {
            lgs_unread(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
            return false;
        }
    return true;
}

/* `size` bytes of the library's, wherever they are to be. */
static bool lgs_found(struct lgs_call *c, void *to, uint64_t address, size_t size, const char *what)
{
    if (!c->failed && !lgs_read(to, address, size))
        lgs_unread(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
    return !c->failed;
}

/* `size` bytes of the library's that a callback fills: they go back when it returns, and nothing that it is given meanwhile comes over them. */
static void *lgs_filled(struct lgs_call *c, uint64_t address, size_t size, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)) || !lgs_offset(c, address, size, &offset, what))
        return 0;
    if (!lgs_has(c, address, size, what))
        return 0;
    void *copy = lgs_own_aligned(c, size, lgs_alignment(size), what);
    /* (All goes back, also what the program leaves as it was.) */
    if (copy && !lgs_found(c, copy, address, size, what))
        return 0;
    if (copy) {
        LGS_HEAD(copy)->inside = address;
        LGS_HEAD(copy)->size = size;
    }
    lgs_thread.given = size;
    return copy;
}

/* (What was stored just now in words is read back in words: in vectors the processor would have to wait for it.) */
static inline bool lgs_has_zero(const char *at, size_t size)
{
    if (size > 64)
        return memchr(at, 0, size) != 0;
    uint64_t word;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        if ((word - 0x0101010101010101) & ~word & 0x8080808080808080)
            return true;
    }
    while (size && *at)
        at++, size--;
    return size != 0;
}

/* A string of the library's. */
static char *lgs_text(struct lgs_call *c, uint64_t address, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)) || !lgs_offset(c, address, 1, &offset, what))
        return 0;
    char *mirror = lgs_mirror(c, what);
    if (!mirror)
        return 0;
    char *copy = mirror + offset;
    size_t length = 0;
    for (size_t step = 64; length < LGS_STRING; step = step < 4096 ? step * 4 : step) {
        /* Up to a boundary, so that no page behind the string's last is read. */
        size_t piece = step - ((offset + length) & (step - 1));
        if (length + piece > LGS_WINDOW - offset)
            break;
        if (!lgs_mirror_takes(c, mirror, offset + length, piece, what))
            return 0;
        if (!lgs_read(copy + length, address + length, piece))
            break;
        if (lgs_has_zero(copy + length, piece))
            return copy;
        length += piece;
    }
    lgs_unread(c, LG_STUB_STRING, what, "the library returned a string without an end");
    return 0;
}

/* A piece that is too small for the next is none any more. Returns null. */
static struct lgs_lent *lgs_lent_drop(struct lgs_lent **list, struct lgs_lent *lent)
{
    while (*list != lent)
        list = &(*list)->next;
    *list = lent->next;
    lent->next = 0;
    lgs_lent_free(&lent);
    return 0;
}

/* A new piece that is lent, at `host`. */
static struct lgs_lent *lgs_lent_new(struct lgs_lent **list, void *host, size_t size, uint64_t address)
{
    struct lgs_lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return 0;
    if (!(lent->piece = lgs_piece_new(host, size, address))) {
        free(lent);
        return 0;
    }
    lent->piece->lent = true;
    lent->next = *list;
    return *list = lent;
}

/* Memory of the library's that the program will fill; it goes back before the next call with the same handle, or of the same thread where there is none. The
 * piece is kept for the next time. Another thread's call with the handle may give it back, or drop it, as soon as the lock is free: so a binding says before the
 * call what it is filled with, and nothing of it is looked at afterwards. */
static void *lgs_lend(struct lgs_call *c, uint64_t address, size_t size, const char *what)
{
    uint32_t offset;
    if (c->failed || !address || !lgs_offset(c, address, size, &offset, what))
        return 0;
    lgs_watch();
    void *host = 0, *room = 0;
    for (bool again = true; again && !host;) {
        pthread_mutex_lock(&lgs.lock);
        struct lgs_scope *scope = lgs_scope_of(c->handle);
        struct lgs_lent **list = scope ? &scope->lent : &lgs_thread.lent, *lent = *list;
        while (lent && lent->out)
            lent = lent->next;
        if (lent && (lent->piece->size < size || (uintptr_t)lent->piece->host % lgs_alignment(address)))
            lent = lgs_lent_drop(list, lent);
        if (!lent && room && (lent = lgs_lent_new(list, room, size, address)))
            room = 0;
        if (lent) {
            host = (void *)(uintptr_t)lent->piece->host;
            lent->piece->inside = address;
            lent->piece->generation = lgs.generation;
            lent->size = size;
            lent->out = true;
            __atomic_fetch_add(&lgs.lent, 1, __ATOMIC_RELAXED);
            if (lgs_thread.filling)
                memcpy(host, lgs_thread.filling, lgs_thread.fills < size ? lgs_thread.fills : size);
        }
        pthread_mutex_unlock(&lgs.lock);
        again = !host && !room && (room = lgs_piece_room(size, address));
    }
    free(room);
    if (host)
        lgs_thread.given = size;
    else
        lgs_unread(c, LG_STUB_MEMORY, what, "no memory, or the library lends more than it may have");
    return host;
}

/* What was lent for this handle, or for none on this thread, goes back, before another thread can drop it. (The piece stays until the handle is released, or the
 * thread ends.) */
static void lgs_lent_back(struct lgs_call *c, uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    for (struct lgs_lent *lent = handle ? scope ? scope->lent : 0 : lgs_thread.lent; lent; lent = lent->next) {
        if (!lent->out)
            continue;
        lent->out = false;
        __atomic_fetch_sub(&lgs.lent, 1, __ATOMIC_RELAXED);
        lgs_memory_back(c, lent->piece->inside, lent->piece->host, lent->size, "buffer");
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* A call begins, with this handle or none: what was lent for it goes back. */
static __attribute__((noinline, cold)) void lgs_give_back(struct lgs_call *c)
{
    if (c->failed)
        return; /* it does not take place */
    if (c->handle)
        lgs_lent_back(c, c->handle);
    lgs_lent_back(c, 0);
}

static inline bool lgs_has_lent(void)
{
    return LGS_LENDS && __builtin_expect(__atomic_load_n(&lgs.lent, __ATOMIC_RELAXED) != 0, 0);
}

/* What `host` is to the library that a callback was given to fill, or 0. */
static uint64_t lgs_filled_inside(const void *host)
{
    for (unsigned i = lgs_thread.depth; i--;)
        for (const union lgs_head *owned = lgs_thread.marks[i].owned; owned; owned = owned->next)
            if ((uintptr_t)host - (uintptr_t)(owned + 1) < owned->size)
                return owned->inside + ((uintptr_t)host - (uintptr_t)(owned + 1));
    return 0;
}

/* A place in the library's memory that the program names: memory or a string that it was given, or a handle. */
static uint64_t lgs_inside(struct lgs_call *c, const void *host, const char *what)
{
    uintptr_t in_mirror = (uintptr_t)host - (uintptr_t)lgs_thread.mirror;
    uintptr_t in_places = (uintptr_t)host - (uintptr_t)lgs.places;
    const struct lgs_scope *scope = &lgs.scopes[c->failed ? 0 : lgs_scope_place(host)];
    if (c->failed || !host)
        return 0;
    if (lgs_thread.mirror && in_mirror < LGS_WINDOW)
        return lgs.window + in_mirror;
    if (in_places < LGS_WINDOW)
        return lgs.window + in_places;
    if (scope->type)
        return scope->inside;
    /* It may have been given to another thread. */
    uint64_t inside = lgs_filled_inside(host);
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_piece *piece = lgs_piece_at(host, 1);
    if (piece && piece->generation == lgs.generation)
        inside = piece->inside + ((uintptr_t)host - (uintptr_t)piece->host);
    for (const struct lgs_mirror *mirror = lgs.mirrors; mirror && !inside; mirror = mirror->next)
        if ((uintptr_t)host - (uintptr_t)mirror->at < LGS_WINDOW)
            inside = lgs.window + ((uintptr_t)host - (uintptr_t)mirror->at);
    pthread_mutex_unlock(&lgs.lock);
    if (!inside)
        lgs_fail(c, LG_STUB_POINTER, what, "it is no memory of this library's");
    return inside;
}

/* What the program wrote at `host`, which the library has at `inside`, goes back: as far as the client has anything there, and before another thread can give that
 * back. */
static void lgs_inside_back(struct lgs_call *c, uint64_t inside, const void *host, size_t size, const char *what)
{
    if (c->failed || !host)
        return;
    pthread_mutex_lock(&lgs.lock);
    size_t behind = lgs_behind_now(host);
    lgs_memory_back(c, inside, host, size < behind ? size : behind, what);
    pthread_mutex_unlock(&lgs.lock);
}

/* Host memory for what the library gave out to this thread at `address`: the same for the same, and nothing else is ever put there. What has pointers in it, or
 * an end, is the same only if it is as long: the program may still go by how many there were. Bytes may be fewer. */
static void *lgs_object(struct lgs_call *c, uint64_t address, unsigned type, size_t size, const char *what)
{
    bool bytes = type == LGS_BYTES || type == LGS_BOOLS || type == LGS_TEXT_ALONE;
    if (c->failed || !lgs_mirror(c, what))
        return 0;
    struct lgs_object **bucket = &lgs.objects[(address >> 3 ^ type) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    struct lgs_object *object = *bucket;
    while (object && (object->mirror != lgs_thread.mirror || object->address != address || object->type != type ||
                      (bytes ? object->size < size : object->size != size)))
        object = object->next;
    if (!object && lgs.object_bytes + size <= LGS_OBJECTS && (object = malloc(sizeof *object))) {
        *object = (struct lgs_object){lgs_thread.mirror, address, type, size, *bucket, 0};
        if (posix_memalign(&object->bytes, lgs_alignment(size), size ? size : 1) == 0) {
            lgs.object_bytes += sizeof *object + size;
            *bucket = object;
        } else {
            free(object);
            object = 0;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!object)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory, or the library gave out too much");
    return object ? object->bytes : 0;
}

/* An array of the library's, copied once, to the first element whose `length` bytes at `offset` are zero: that one included, and nothing is looked at
 * again. `count` becomes its elements. */
static void *lgs_until(struct lgs_call *c, uint64_t address, size_t size, size_t offset, size_t length, lgs_wide *count, const char *what)
{
    char *copy = 0;
    *count = 0;
    if (c->failed || !address)
        return 0;
    for (size_t room = 0, read = 0, there = 0;; there++) {
        if (there == read) {
            /* As many as end before a boundary, so that no page behind the last is read; one, if none does. */
            size_t more = (64 - ((address + read * size) & 63)) / size;
            more = more ? more : 1;
            if (room < read + more) {
                room = room * 2 < read + more ? read + more : room * 2;
                char *larger = room * size > LGS_OBJECTS ? 0 : lgs_own_aligned(c, room * size, lgs_alignment(size), what);
                if (!larger) {
                    lgs_fail(c, LG_STUB_LENGTH, what, "the library returned an array without an end");
                    return 0;
                }
                if (read)
                    memcpy(larger, copy, read * size);
                copy = larger;
            }
            if (!lgs_read(copy + read * size, address + read * size, more * size)) {
                lgs_unread(c, LG_STUB_LENGTH, what, "the library returned an array without an end");
                return 0;
            }
            read += more;
        }
        const char *element = copy + there * size;
        size_t zeros = 0;
        while (zeros < length && !element[offset + zeros])
            zeros++;
        if (zeros == length) {
            *count = (lgs_wide)there + 1;
            return copy;
        }
    }
}

/* So many elements, copied once. */
static void *lgs_array(struct lgs_call *c, uint64_t address, lgs_wide count, size_t size, const char *what)
{
    size_t bytes = lgs_size(c, count, size, what);
    void *copy = c->failed || !address ? 0 : lgs_own_aligned(c, bytes, lgs_alignment(size), what);
    if (copy && bytes && !lgs_read(copy, address, bytes)) {
        lgs_unread(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
        return 0;
    }
    return copy;
}

/* An array of strings: `count` of them, or, if that is negative, up to a null pointer. It ends with the call, or stays. */
static char **lgs_texts(struct lgs_call *c, uint64_t address, lgs_wide count, int flags, int holes, bool stays, const char *what)
{
    if (c->failed || (!address && lgs_null(c, flags, what)))
        return 0;
    lgs_wide there = count;
    uint64_t *pointers = count < 0 ? lgs_until(c, address, 8, 0, 8, &there, what) : lgs_array(c, address, count, 8, what);
    if (!pointers)
        return 0;
    /* One without a number ends with a null pointer, the others get one. */
    size_t length = (size_t)there - (count < 0), size = (length + 1) * sizeof(char *);
    if (holes & LGS_PAIRS && length % 2) {
        lgs_fail(c, LG_STUB_LENGTH, what, "the library returned strings that are no pairs");
        return 0;
    }
    char **texts = lgs_own(c, size, what);
    for (size_t i = 0; texts && i < length; i++)
        texts[i] = lgs_text(c, pointers[i], holes, what);
    if (c->failed || !stays)
        return c->failed ? 0 : texts;
    char **copy = lgs_object(c, address, holes & LGS_NULLABLE ? LGS_TEXTS_WITH_HOLES : LGS_TEXTS, size, what);
    return copy ? memcpy(copy, texts, size) : 0;
}

/* `size` bytes of the library's with bools among them: nothing else is ever put over what these were made. */
static void *lgs_apart(struct lgs_call *c, uint64_t address, unsigned type, size_t size, int flags, const char *what)
{
    if (c->failed || (!address && lgs_null(c, flags, what)))
        return 0;
    void *read = lgs_own_aligned(c, size, lgs_alignment(size), what);
    if (read && !lgs_read(read, address, size))
        lgs_unread(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
    void *copy = read ? lgs_object(c, address, type, size, what) : 0;
    lgs_thread.given = size;
    return copy ? memcpy(copy, read, size) : 0;
}

/* What crosses as a bool is 0 or 1, whatever the library has put there. */
static inline void *lgs_bools(void *at, size_t count)
{
    for (unsigned char *byte = at; byte && count; count--, byte++)
        *byte = *byte != 0;
    return at;
}

/* The same of what was just given, in elements of a size. */
#define LGS_NORMAL(bools, at, element)                \
    __extension__({                                   \
        void *given = (at);                           \
        bools(given, lgs_thread.given / (element));   \
    })

/* A copy, `size` bytes, a string (LGS_TEXT) or what was just given (LGS_GIVEN), from which sizes are computed: nothing that is copied later comes over it. It ends with the frame, or
 * stays. */
static void *lgs_steady(struct lgs_call *c, const void *copy, uint64_t address, size_t size, int flags, bool stays, const char *what)
{
    if (!copy || c->failed)
        return 0;
    size = flags & LGS_TEXT ? strlen(copy) + 1 : flags & LGS_GIVEN ? lgs_thread.given : size;
    unsigned type = flags & LGS_TEXT ? LGS_TEXT_ALONE : LGS_BYTES;
    void *steady = stays ? lgs_object(c, address, type, size, what) : lgs_own_aligned(c, size, lgs_alignment(size), what);
    return steady ? memcpy(steady, copy, size) : 0;
}
