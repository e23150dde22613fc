/* ---- structures that the library remembers by their address --------------------------------------------------------------------- */

/* Memory that only these are in. */
struct lgs_kept_region {
    struct lgs_stage stage;
    size_t used;
    struct lgs_kept_region *next;
};

/* Room for the library's copy of a structure: what another has had that is as large, or new. The lock is held, here and in what follows. */
static struct lgs_kept *lgs_kept_new(const void *host, unsigned type, size_t size)
{
    struct lgs_kept **spare = &lgs.spare, *kept;
    while (*spare && (*spare)->size != size)
        spare = &(*spare)->next;
    if ((kept = *spare)) {
        *spare = kept->next;
        lgs_clear(kept->stage, size);
    } else {
        size_t rounded = (size + 15) & ~(size_t)15;
        struct lgs_kept_region *region = lgs.kept_regions;
        if (!region || region->stage.size - region->used < rounded) {
            region = calloc(1, sizeof *region);
            if (!region || !lgs_region_new(rounded > LGS_STAGE ? (rounded + 4095) & ~(size_t)4095 : LGS_STAGE, &region->stage)) {
                free(region);
                return 0;
            }
            region->next = lgs.kept_regions;
            lgs.kept_regions = region;
        }
        if (!(kept = malloc(sizeof *kept + size)))
            return 0;
        *kept = (struct lgs_kept){.stage = lgs_far(region->stage.here, region->used), .inside = region->stage.inside + region->used,
                                  .size = size, .generation = lgs.generation};
        region->used += rounded;
    }
    kept->host = host;
    kept->type = type;
    kept->next = 0;
    kept->known = kept->ended = false;
    memset(kept->agreed, 0, size);
    return kept;
}

/* Its place is another structure's from now, unless a call has it: the library would take that one for this. */
static void lgs_kept_spare(struct lgs_kept *kept)
{
    if (kept->calls || !kept->ended)
        return;
    if (kept->generation == lgs.generation) {
        kept->next = lgs.spare;
        lgs.spare = kept;
    } else {
        free(kept);
    }
}

/* The library will not use these copies again. */
static void lgs_kept_end(struct lgs_kept **list)
{
    while (*list) {
        struct lgs_kept *kept = *list;
        *list = kept->next;
        kept->ended = true;
        lgs_kept_spare(kept);
    }
}

/* The call ends that has it. */
static void lgs_kept_free(struct lgs_kept *kept)
{
    pthread_mutex_lock(&lgs.lock);
    kept->calls--;
    lgs_kept_spare(kept);
    pthread_mutex_unlock(&lgs.lock);
}

/* Where the copies are of the handle that `c` gives something for; elsewhere those that a function releases, and those without a handle. */
static struct lgs_kept **lgs_kept_of(const struct lgs_call *c, const void *host, bool with_handle)
{
    struct lgs_scope *scope = with_handle ? lgs_life(lgs_giver(c->handle)) : 0;
    return scope ? &scope->kept : &lgs.kept[((uintptr_t)host >> 4) % LGS_BUCKETS];
}

static struct lgs_kept *lgs_kept_in(struct lgs_kept *list, const void *host, unsigned type)
{
    while (list && (list->host != host || list->type != type))
        list = list->next;
    return list;
}

/* The library has this in its copy: what is not as they have agreed on last, the library has changed since, whichever call that was; it goes to the program. The
 * rest the program may have changed, in a callback of the call. */
static __attribute__((unused)) void lgs_kept_give(struct lgs_kept *kept, void *host, const void *now, const struct lgs_numbers *numbers)
{
    pthread_mutex_lock(&lgs.lock);
    if (memcmp(host, kept->agreed, kept->size) == 0)
        memcpy(host, now, kept->size);
    else
        lgs_give_numbers(numbers, host, now, (const char *)kept->agreed);
    memcpy(kept->agreed, now, kept->size);
    kept->known = true;
    pthread_mutex_unlock(&lgs.lock);
}

/* The call has failed: what the library has by now is nothing that the program knows. */
static __attribute__((unused)) void lgs_kept_unknown(struct lgs_kept *kept)
{
    pthread_mutex_lock(&lgs.lock);
    if (kept)
        kept->known = false;
    pthread_mutex_unlock(&lgs.lock);
}

/* The library's copy of the program's structure at `host`: found, or made. `with_handle`: no function releases it, and the library has it as long as the handle that
 * comes with it, or that the call makes; `of` is it. `known`: what they have agreed on; it differs everywhere if that is nothing. `room`: for what the call has of its buffers
 * (lgs_kept_has). */
static struct lgs_block lgs_keep(struct lgs_call *c, void *host, unsigned type, size_t size, bool with_handle, struct lgs_kept **of, void *known, size_t room, const char *what)
{
    struct lgs_block block = {host, 0, 0, size};
    lgs_need_mark(c);
    if (c->failed || !host)
        return block;
    bool waits = with_handle && c->makes;
    /* (Without callbacks no release comes before the call's end.) */
    void *owned = waits || LGS_CALLS_BACK ? lgs_own(c, LGS_CALLS_BACK ? room : 0, what) : 0;
    if (c->failed)
        return block;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_kept **list = waits ? 0 : lgs_kept_of(c, host, with_handle), *kept = list ? lgs_kept_in(*list, host, type) : 0;
    if (!kept && (kept = lgs_kept_new(host, type, size))) {
        if (waits) {
            LGS_HEAD(owned)->kept = kept;
        } else {
            kept->next = *list;
            *list = kept;
        }
    }
    if (kept) {
        if (LGS_CALLS_BACK) {
            LGS_HEAD(owned)->in_call = kept;
            kept->calls++;
        }
        memcpy(known, kept->agreed, size);
        for (size_t i = 0; !kept->known && i < size; i++)
            ((unsigned char *)known)[i] = (unsigned char)~((const unsigned char *)host)[i];
        kept->known = true;
        memcpy(kept->agreed, host, size);
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!kept) {
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory that can be shared with the domain");
        return block;
    }
    *of = kept;
    block.here = kept->stage;
    block.inside = kept->inside;
    return block;
}

/* The call has these buffers of the structure in this block, and its callbacks may ask: not in its frame, which a jump may leave. */
static __attribute__((unused)) void lgs_kept_has(const struct lgs_block *block, const void *with, size_t size)
{
    union lgs_head *owned = LGS_CALLS_BACK ? lgs_thread.marks[lgs_thread.depth - 1].owned : 0;
    while (owned && !(owned->in_call && owned->in_call->inside == block->inside))
        owned = owned->next;
    if (owned)
        owned->with = memcpy(owned + 1, with, size);
}

/* The buffers of the structure in this block that an outer call of the thread's has given the library, the innermost that has given some; or null. */
static __attribute__((unused)) const void *lgs_kept_with(const struct lgs_block *block)
{
    for (unsigned i = lgs_thread.depth; i-- > 0;)
        for (const union lgs_head *owned = lgs_thread.marks[i].owned; owned; owned = owned->next)
            if (owned->with && owned->in_call->inside == block->inside && owned->in_call->generation == lgs.generation)
                return owned->with;
    return 0;
}

/* The library will not use its copy again. */
static void lgs_release(const void *host, unsigned type)
{
    struct lgs_kept **at = &lgs.kept[((uintptr_t)host >> 4) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    while (*at && ((*at)->host != host || (*at)->type != type))
        at = &(*at)->next;
    struct lgs_kept *kept = *at;
    if (kept) {
        *at = kept->next;
        kept->next = 0;
        lgs_kept_end(&kept);
    }
    pthread_mutex_unlock(&lgs.lock);
}
