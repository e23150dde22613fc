/* ---- memory that program and library share: buffers in it are passed as they are ----------------------------------------------
 *
 * Only buffers, and only those that nothing else is concluded from. Strings, structures with pointers and what sizes speak of may not lie there
 * (lgs_private): the library could change them before the client looks. What the program reads there after a call may change under its eyes. */

/* Whether memory can be shared with the library. */
static bool lgs_may_share(void)
{
    if (lgs_thread.starts)
        return false;
    pthread_once(&lgs_once, lgs_start);
    lgs_notice_child();
    /* A domain that is begun again would have none of it. */
    return !lgs_start_failed && !LGS_RESTARTS;
}

/* Under the lock: what is at a place from now on. */
static void lgs_put_shared(struct lgs_shared *place, struct lgs_shared shared)
{
    unsigned version = place->version;
    __atomic_store_n(&place->version, version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&place->here, shared.here, __ATOMIC_RELAXED);
    __atomic_store_n(&place->inside, shared.inside, __ATOMIC_RELAXED);
    __atomic_store_n(&place->size, shared.size, __ATOMIC_RELAXED);
    __atomic_store_n(&place->writable, shared.writable, __ATOMIC_RELAXED);
    __atomic_store_n(&place->arena, shared.arena, __ATOMIC_RELAXED);
    place->grant = shared.grant;
    place->region = shared.region;
    __atomic_store_n(&place->version, version + 2, __ATOMIC_RELEASE);
}

/* Remembers what the library has. */
static bool lgs_shares(struct lgs_shared shared)
{
    pthread_mutex_lock(&lgs.lock);
    size_t place = 0;
    while (place < lgs.shared_count && lgs.shared[place].here)
        place++;
    bool done = shared.here && shared.inside && place < LGS_SHARES;
    if (done) {
        lgs_put_shared(&lgs.shared[place], shared);
        if (place == lgs.shared_count)
            __atomic_store_n(&lgs.shared_count, place + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lgs.lock);
    return done;
}

/* Forgets what lies at `here`, or is of `arena`. */
static struct lgs_shared lgs_shares_no_more(const void *here, const lg_arena *arena)
{
    struct lgs_shared found = {0};
    lgs_notice_child();
    pthread_mutex_lock(&lgs.lock);
    for (size_t i = 0; i < lgs.shared_count; i++)
        if (here ? lgs.shared[i].here == here && !lgs.shared[i].arena : arena && lgs.shared[i].arena == arena) {
            found = lgs.shared[i];
            lgs_put_shared(&lgs.shared[i], (struct lgs_shared){0});
        }
    pthread_mutex_unlock(&lgs.lock);
    return found;
}

/* Grants `region` to the library. */
static bool lgs_share(lg_region *region, bool writable)
{
    if (!lgs_may_share())
        return false;
    lg_grant *grant = lg_grant_new(lgs.domain, region, writable ? LG_READ_WRITE : LG_READ);
    struct lgs_shared shared = {.here = lg_region_address(region), .size = lg_region_length(region), .writable = writable, .grant = grant};
    shared.inside = (uint64_t)(uintptr_t)lg_grant_pointer(grant, 0);
    bool done = lgs_shares(shared);
    if (!done)
        lg_grant_free(grant);
    return done;
}

/* Takes the memory at `here` away from the library. */
static bool lgs_unshare(const void *here)
{
    lg_grant *grant = here ? lgs_shares_no_more(here, 0).grant : 0;
    return grant && lg_grant_free(grant) == LG_OK;
}

/* Opens `arena` for the library. */
static bool lgs_open(lg_arena *arena, bool writable)
{
    if (!lgs_may_share())
        return false;
    void *inside = lg_arena_open(arena, lgs.domain, writable ? LG_READ_WRITE : LG_READ);
    if (!inside)
        return false;
    lg_region *region = lg_arena_region(arena);
    struct lgs_shared shared = {.here = lg_region_address(region), .size = lg_region_length(region), .writable = writable, .arena = arena, .region = region};
    shared.inside = (uint64_t)(uintptr_t)inside;
    bool done = lgs_shares(shared);
    if (!done) {
        lg_arena_shut(arena, lgs.domain);
        lg_region_free(region);
    }
    return done;
}

/* Takes it away again. (One that is closed has been taken away: its memory goes now.) */
static bool lgs_shut(lg_arena *arena)
{
    struct lgs_shared shared = lgs_shares_no_more(0, arena);
    if (!shared.arena)
        return false;
    lg_arena_shut(arena, lgs.domain);
    return lg_region_free(shared.region) == LG_OK;
}

static void *lgs_shared_alloc(size_t size)
{
    lg_region *region = lg_region_new(size ? size : 1);
    void *here = region && lgs_share(region, true) ? lg_region_address(region) : 0;
    lg_region_free(region);
    return here;
}
