/* ---- the mirror: what the library gives out, copied once ------------------------------------------------------------------ */

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

/* `size` bytes of the library's. */
static void *lgs_memory(struct lgs_call *c, uint64_t address, size_t size, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)) || !lgs_offset(c, address, size, &offset, what))
        return 0;
    char *copy = lgs.mirror + offset;
    if (flags & LGS_READS && !lgs_read(copy, address, size)) {
        lgs_fail(c, LG_STUB_POINTER, what, "the library returned a pointer to memory that it does not have");
        return 0;
    }
    lgs_thread.given = size;
    return copy;
}

/* What the program wrote there goes back. */
static void lgs_memory_back(struct lgs_call *c, uint64_t address, size_t size, const char *what)
{
    if (!c->failed && address && size && !lgs_write(address, lgs.mirror + (uint32_t)address, size))
        lgs_fail(c, LG_STUB_POINTER, what, "the library gave a buffer that it does not have");
}

/* A string of the library's. */
static char *lgs_text(struct lgs_call *c, uint64_t address, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)) || !lgs_offset(c, address, 1, &offset, what))
        return 0;
    char *copy = lgs.mirror + offset;
    size_t length = 0;
    for (size_t step = 64; length < LGS_STRING; step = step < 4096 ? step * 4 : step) {
        /* Up to a boundary, so that no page behind the string's last is read. */
        size_t piece = step - ((offset + length) & (step - 1));
        if (length + piece > LGS_WINDOW - offset || !lgs_read(copy + length, address + length, piece))
            break;
        if (memchr(copy + length, 0, piece))
            return copy;
        length += piece;
    }
    lgs_fail(c, LG_STUB_STRING, what, "the library returned a string without an end");
    return 0;
}

/* Memory of the library's that the program will fill; it goes back before the next call. */
static void *lgs_lend(struct lgs_call *c, uint64_t address, size_t size, const char *what)
{
    void *copy = lgs_memory(c, address, size, LGS_NULLABLE, what);
    struct lgs_lent *lent = copy ? malloc(sizeof *lent) : 0;
    if (lent) {
        lent->address = address;
        lent->size = size;
        pthread_mutex_lock(&lgs.lock);
        lent->next = lgs.lent;
        lgs.lent = lent;
        pthread_mutex_unlock(&lgs.lock);
    } else if (copy) {
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
    }
    return lent ? copy : 0;
}

static void lgs_give_back(struct lgs_call *c)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_lent *lent = lgs.lent;
    lgs.lent = 0;
    pthread_mutex_unlock(&lgs.lock);
    while (lent) {
        struct lgs_lent *next = lent->next;
        lgs_memory_back(c, lent->address, lent->size, "buffer");
        free(lent);
        lent = next;
    }
}

/* A place in the library's memory that the program names: a string or buffer that it was given, or a handle. */
static uint64_t lgs_inside(struct lgs_call *c, const void *host, const char *what)
{
    uintptr_t in_mirror = (uintptr_t)host - (uintptr_t)lgs.mirror;
    uintptr_t in_handles = (uintptr_t)host - (uintptr_t)lgs.handles;
    if (c->failed || !host)
        return 0;
    if (in_mirror < LGS_WINDOW)
        return lgs.window + in_mirror;
    if (in_handles < LGS_WINDOW)
        return lgs.window + in_handles;
    lgs_fail(c, LG_STUB_POINTER, what, "it is no memory of this library's");
    return 0;
}

/* Host memory until the call ends, which the library cannot reach. */
static void *lgs_own(struct lgs_call *c, size_t size, const char *what)
{
    lgs_need_mark(c);
    void **owned = c->failed ? 0 : calloc(1, sizeof(max_align_t) + size);
    if (!owned) {
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
        return 0;
    }
    void **of_frame = &lgs_thread.marks[lgs_thread.depth - 1].owned;
    *owned = *of_frame;
    *of_frame = owned;
    return (char *)owned + sizeof(max_align_t);
}

/* Host memory for what the library gave out at `address`: the same for the same, and nothing else is ever put there. */
static void *lgs_object(struct lgs_call *c, uint64_t address, unsigned type, size_t size, const char *what)
{
    if (c->failed)
        return 0;
    struct lgs_object **bucket = &lgs.objects[(address >> 3 ^ type) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    struct lgs_object *object = *bucket;
    while (object && (object->address != address || object->type != type || object->size < size))
        object = object->next;
    if (!object && lgs.object_bytes + size <= LGS_OBJECTS && (object = malloc(sizeof *object + size))) {
        lgs.object_bytes += sizeof *object + size;
        object->address = address;
        object->type = type;
        object->size = size;
        object->next = *bucket;
        *bucket = object;
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!object)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory, or the library gave out too much");
    return object ? object->bytes : 0;
}

/* Structures up to one with zero in a field, that one included. */
static lgs_wide lgs_until(struct lgs_call *c, uint64_t address, size_t size, size_t offset, size_t length, const char *what)
{
    uint64_t field = 1;
    lgs_wide count = 0;
    for (; field && address; count++) {
        field = 0;
        if (!lgs_read(&field, address + (uint64_t)count * size + offset, length)) {
            lgs_fail(c, LG_STUB_LENGTH, what, "the library returned an array without an end");
            return 0;
        }
    }
    return count;
}

/* An array of strings: `count` of them, or, if that is negative, up to a null pointer. It ends with the call, or stays. */
static char **lgs_texts(struct lgs_call *c, uint64_t address, lgs_wide count, int flags, int holes, bool stays, const char *what)
{
    if (c->failed || (!address && lgs_null(c, flags, what)))
        return 0;
    size_t length = 0;
    if (count >= 0) {
        length = lgs_size(c, count, 8, what) / 8;
    } else {
        for (uint64_t pointer = 1;; length++) {
            if (!lgs_read(&pointer, address + length * 8, 8)) {
                lgs_fail(c, LG_STUB_STRING, what, "the library returned an array of strings without an end");
                return 0;
            }
            if (!pointer)
                break;
        }
    }
    size_t size = (length + 1) * sizeof(char *);
    char **texts = lgs_own(c, size, what);
    if (!texts || !lgs_memory(c, address, length * 8, length ? LGS_READS : 0, what))
        return 0;
    /* Once more, now all of it, into memory of the host's: that is what is believed. */
    memcpy(texts, lgs.mirror + (uint32_t)address, length * 8);
    for (size_t i = 0; i < length; i++)
        texts[i] = lgs_text(c, (uint64_t)texts[i], holes, what);
    if (c->failed || !stays)
        return c->failed ? 0 : texts;
    char **copy = lgs_object(c, address, 0, size, what);
    return copy ? memcpy(copy, texts, size) : 0;
}
