/* ---- the lives of handles -----------------------------------------------------------------------------------------------------
 *
 * A handle is, to the program, the address of a place among zeros; the place is that of its struct lgs_scope. Everything that the program gives, hears
 * or is lent with a handle hangs on this, and ends with the call that is to release it, whatever that returns, or with the end of its
 * domain. Then the place means nothing until others have been used up: an old handle is never a new one, not in the next domain either. */

static bool lgs_null(struct lgs_call *c, int flags, const char *what);
static void lgs_unread(struct lgs_call *c, enum lg_stub_kind kind, const char *what, const char *reason);
static void lgs_data_end(size_t *first);
static void lgs_data_end_of_call(size_t *first);
static void lgs_data_spare_free(void);
static void lgs_streams_end(uint64_t handle);
static void lgs_kept_end(struct lgs_kept **list);
static void lgs_kept_free(struct lgs_kept *kept);
static inline void lgs_need_mark(struct lgs_call *c);

/* Where no handle is. */
#define LGS_NOWHERE ((uint64_t)1)

/* Which handle is at an address of the library's. */
static inline uint32_t *lgs_scope_at(uint64_t inside)
{
    return &lgs.scope_at[(uint32_t)inside / LGS_STEP];
}

/* That of a handle which the library has; null if it has none there. */
static inline struct lgs_scope *lgs_scope_of(uint64_t handle)
{
    uint32_t place = handle ? __atomic_load_n(lgs_scope_at(handle), __ATOMIC_ACQUIRE) : 0;
    return place ? &lgs.scopes[place] : 0;
}

static inline void *lgs_scope_host(const struct lgs_scope *scope)
{
    return lgs.handles + (size_t)(scope - lgs.scopes) * LGS_HANDLE;
}

/* The place of what may be a handle of the program's, or 0. */
static inline size_t lgs_scope_place(const void *host)
{
    uintptr_t offset = (uintptr_t)host - (uintptr_t)lgs.handles;
    return __builtin_expect(offset >= LGS_HANDLES * LGS_HANDLE || offset % LGS_HANDLE, 0) ? 0 : offset / LGS_HANDLE;
}

/* Callbacks of this thread that use it: what they have, they have lost. */
static unsigned lgs_scope_own_users(const struct lgs_scope *scope)
{
    unsigned own = 0;
    for (unsigned i = 0; i < lgs_thread.depth; i++)
        for (const union lgs_head *owned = lgs_thread.marks[i].owned; owned; owned = owned->next)
            own += owned->scope == scope;
    return own;
}

/* Nothing of it goes back any more. The lock is held, here and in what follows. */
static void lgs_lent_end(struct lgs_lent *lent)
{
    for (; lent; lent = lent->next) {
        __atomic_fetch_sub(&lgs.lent, lent->out, __ATOMIC_RELAXED);
        lent->out = false;
    }
}

/* Nor does the program fill it any more. */
static void lgs_lent_free(struct lgs_lent **list)
{
    lgs_lent_end(*list);
    while (*list) {
        struct lgs_lent *lent = *list;
        *list = lent->next;
        lgs_piece_forget(lent->piece, true);
        free(lent);
    }
}

/* All that was given for it ends. */
static void lgs_scope_clear(struct lgs_scope *scope)
{
    lgs_data_end(&scope->data);
    lgs_streams_end(scope->inside);
    for (struct lgs_told *told = scope->told, *next; told; told = next) {
        next = told->next;
        free(told);
    }
    scope->told = 0;
    lgs_kept_end(&scope->kept);
    lgs_lent_end(scope->lent);
    scope->itself = scope->alone = false;
    scope->changing = 0;
}

/* The same when the program ends it. A callback on another thread that has some of it is waited for: the program may free that as soon as this
 * returns. */
static void lgs_scope_forget(struct lgs_scope *scope)
{
    lgs_scope_clear(scope);
    /* (Until here the program may call setjmp with it, whatever has become of the handle.) */
    struct lgs_jump *jumps = scope->jumps;
    __atomic_store_n(&scope->jumps, 0, __ATOMIC_RELEASE); /* (A child that is made now has none of what goes.) */
    free(jumps);
    /* What was shown behind it (LG_SHOWN). */
    memset(lgs_scope_host(scope), 0, sizeof(void *));
    /* (A thread that is cancelled here would take the lock with it.) */
    int cancels;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    while (scope->users > lgs_scope_own_users(scope))
        pthread_cond_wait(&lgs.left, &lgs.lock);
    pthread_setcancelstate(cancels, 0);
}

/* The place is free. */
static void lgs_scope_free(struct lgs_scope *scope)
{
    scope->held = false;
    scope->next = 0;
    if (lgs.last_free)
        lgs.scopes[lgs.last_free].next = (uint32_t)(scope - lgs.scopes);
    else
        lgs.first_free = (uint32_t)(scope - lgs.scopes);
    lgs.last_free = (uint32_t)(scope - lgs.scopes);
    lgs.free_count++;
}

/* The handle is none any more. */
static void lgs_scope_die(struct lgs_scope *scope)
{
    __atomic_store_n(&scope->type, 0, __ATOMIC_RELEASE);
    __atomic_store_n(lgs_scope_at(scope->inside), 0, __ATOMIC_RELEASE);
}

/* Something else is where it was. The program may still have it: nothing that it owns or may look at goes. */
static void lgs_scope_leave(struct lgs_scope *scope)
{
    lgs_scope_die(scope);
    lgs_scope_clear(scope);
    scope->inside = LGS_NOWHERE; /* nothing of the new one ends with it */
    scope->held = true;
}

/* A life that the program holds: no answer ends it. */
static inline bool lgs_scope_is_held(const struct lgs_scope *scope)
{
    return scope->family || scope->jumps;
}

/* The program lets go of it. */
static __attribute__((noinline)) void lgs_handle_dead(const void *host)
{
    size_t place = lgs_scope_place(host);
    if (!place || place > __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE))
        return;
    struct lgs_scope *scope = &lgs.scopes[place];
    pthread_mutex_lock(&lgs.lock);
    bool lives = scope->type || scope->held;
    if (scope->type)
        lgs_scope_die(scope);
    scope->held = false;
    if (lives) {
        lgs_scope_forget(scope);
        lgs_lent_free(&scope->lent);
        lgs_scope_free(scope);
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* A call has had a handle that it was to end, and has failed, or the library says that the handle lives on. What was given for the handle ends nevertheless: the
 * program may have freed it. */
static void lgs_handle_ends(const struct lgs_call *c, const void *host, uint64_t handle)
{
    size_t place = lgs_scope_place(host);
    if (place && (c->failed ? handle || lgs.scopes[place].held : false)) {
        lgs_handle_dead(host);
    } else if (handle && place) {
        pthread_mutex_lock(&lgs.lock);
        if (lgs.scopes[place].type)
            lgs_scope_forget(&lgs.scopes[place]);
        lgs.scopes[place].let_go = true;
        lgs.scopes[place].ending = false;
        pthread_mutex_unlock(&lgs.lock);
    }
}

/* A handle that the library has not given out, or of another type. */
static __attribute__((noinline, cold)) uint32_t lgs_scope_new(struct lgs_call *c, uint64_t handle, uint32_t type, const char *what)
{
    if (!lgs_may_copy(sizeof(struct lgs_scope))) {
        lgs_unread(c, LG_STUB_MEMORY, what, "");
        return 0;
    }
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    if (scope && scope->type != type) {
        if (!scope->ending && !scope->let_go && lgs_scope_is_held(scope)) {
            pthread_mutex_unlock(&lgs.lock);
            lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle that the program has already, as one of another type");
            return 0;
        }
        lgs_scope_leave(scope);
        scope = 0;
    }
    uint32_t place = scope ? (uint32_t)(scope - lgs.scopes) : 0;
    if (!place) {
        if (lgs.free_count && (lgs.free_count > LGS_RESTS || lgs.scope_count + 1 == LGS_HANDLES)) {
            place = lgs.first_free;
            lgs.first_free = lgs.scopes[place].next;
            lgs.last_free = lgs.first_free ? lgs.last_free : 0;
            lgs.free_count--;
        } else if (lgs.scope_count + 1 < LGS_HANDLES) {
            place = (uint32_t)lgs.scope_count + 1;
            __atomic_store_n(&lgs.scope_count, place, __ATOMIC_RELEASE);
        }
        if (place) {
            lgs.scopes[place] = (struct lgs_scope){.inside = handle, .users = lgs.scopes[place].users};
            __atomic_store_n(&lgs.scopes[place].type, type, __ATOMIC_RELEASE);
            __atomic_store_n(lgs_scope_at(handle), place, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!place)
        lgs_fail(c, LG_STUB_MEMORY, what, "the program has more handles than there can be");
    return place;
}

/* The library gives out a handle for which the program has given nothing: it is that one's whose call shows it. */
static inline void lgs_shows(const struct lgs_call *c, struct lgs_scope *scope)
{
    if (!LGS_FOLLOWS || scope->family)
        return;
    const struct lgs_scope *by = lgs_scope_of(c->handle);
    uint64_t shown = by && !by->family ? by->shown : c->calls_back ? c->handle : 0;
    if (shown)
        __atomic_store_n(&scope->shown, shown, __ATOMIC_RELAXED);
}

/* A handle that the library gives out. */
static void *lgs_handle_out(struct lgs_call *c, uint64_t address, uint32_t type, int flags, const char *what)
{
    if (c->failed || (!address && lgs_null(c, flags, what)))
        return 0;
    if ((uint32_t)address != address - lgs.window) {
        lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle outside its domain");
        return 0;
    }
    if (address % LGS_STEP) {
        lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle at an address that is no multiple of 4");
        return 0;
    }
    uint32_t place = __atomic_load_n(lgs_scope_at(address), __ATOMIC_ACQUIRE);
    if (__builtin_expect(!place || lgs.scopes[place].type != type, 0) && !(place = lgs_scope_new(c, address, type, what)))
        return 0;
    lgs_shows(c, &lgs.scopes[place]);
    return lgs.handles + place * LGS_HANDLE;
}

/* The call is to end it. From here on the library may have done so, and give the same address to another thread. */
static inline void lgs_handle_ending(const void *host)
{
    size_t place = lgs_scope_place(host);
    if (place)
        __atomic_store_n(&lgs.scopes[place].ending, true, __ATOMIC_RELEASE);
}

/* A handle that the library has made: another one than that which a call on another thread is ending, or that the program has let go of, if that was there. With `made`, one for which things
 * are remembered: the call claims it, in the same look, so that no other call, at the same time on another thread, is given the same. */
static void *lgs_handle_made(struct lgs_call *c, uint64_t address, uint32_t type, int flags, struct lgs_made *made, const char *what)
{
    for (;;) {
        void *host = lgs_handle_out(c, address, type, flags, what);
        if (!host)
            return 0;
        size_t place = lgs_scope_place(host);
        struct lgs_scope *scope = &lgs.scopes[place];
        pthread_mutex_lock(&lgs.lock);
        bool here = scope->inside == address && scope->type == type, known = false;
        if (here && (scope->ending || (made && scope->let_go))) {
            lgs_scope_leave(scope);
            here = false;
        } else if (here && made) {
            known = scope->family != 0;
            if (!known)
                *made = (struct lgs_made){place, scope->family = ++lgs.births};
        }
        pthread_mutex_unlock(&lgs.lock);
        if (known) {
            lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle that the program has already (LG_BORROWED says that it may)");
            return 0;
        }
        if (here)
            return host;
    }
}

/* The call has failed: it has no owner. */
static void lgs_unclaim(const struct lgs_made *made)
{
    if (!made->place)
        return;
    pthread_mutex_lock(&lgs.lock);
    if (lgs.scopes[made->place].family == made->family)
        lgs.scopes[made->place].family = 0;
    pthread_mutex_unlock(&lgs.lock);
}

/* Whether the library gave out `host` as a handle of this type, and where it has that. */
static inline bool lgs_known(uint64_t *inside, const void *host, uint32_t type)
{
    const struct lgs_scope *scope = &lgs.scopes[lgs_scope_place(host)];
    if (__builtin_expect(scope->type != type, 0))
        return false;
    *inside = scope->inside;
    return true;
}

/* Its domain has ended, and nothing else has. */
static bool lgs_is_left(const void *host)
{
    size_t place = lgs_scope_place(host);
    if (!place || place > __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = &lgs.scopes[place];
    bool left = !scope->type && scope->held && scope->inside != LGS_NOWHERE;
    pthread_mutex_unlock(&lgs.lock);
    return left;
}

/* Why it is none. */
static __attribute__((noinline, cold)) void lgs_no_handle_there(struct lgs_call *c, const void *host, const char *what)
{
    size_t place = lgs_scope_place(host);
    const struct lgs_scope *scope = place && place <= __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE) ? &lgs.scopes[place] : 0;
    const char *why = "it is no handle that this library has given out";
    if (scope && scope->type)
        why = "it is a handle of another type";
    else if (scope && scope->held && scope->inside != LGS_NOWHERE)
        why = "it is a handle of a domain that has ended, after a failure or in the parent of this process: the library has begun anew, without it";
    else if (scope)
        why = "it is a handle that was released, or that the library has ended";
    lgs_fail(c, LG_STUB_HANDLE, what, why);
}

/* The call was to give a handle: whether it gives none. */
static inline void lgs_no_handle(const struct lgs_call *c)
{
    lgs_thread.no_handle = c->failed;
}

/* A handle that the program passes. */
static inline uint64_t lgs_handle(struct lgs_call *c, const void *host, uint32_t type, const char *what)
{
    uint64_t inside = 0;
    if (!host)
        c->without = true;
    else if (!c->failed && !lgs_known(&inside, host, type))
        lgs_no_handle_there(c, host, what);
    return inside;
}

/* That of a handle, or, if the library has only shown it, of the one in whose call it did. */
static const struct lgs_scope *lgs_scope_behind(uint64_t handle)
{
    const struct lgs_scope *scope = lgs_scope_of(handle);
    const struct lgs_scope *behind = scope && !scope->family ? lgs_scope_of(__atomic_load_n(&scope->shown, __ATOMIC_RELAXED)) : 0;
    return behind && behind->family ? behind : scope;
}

/* The life of a handle for which the program gives something. The lock is held, here and in what follows. */
static struct lgs_scope *lgs_life(uint64_t handle)
{
    struct lgs_scope *scope = lgs_scope_of(handle);
    if (scope && !scope->family)
        scope->family = ++lgs.births;
    return scope;
}

/* The handle for which the program gives something with this one: itself, or, if the library has only shown it to a callback, that of the call which
 * called back. The others are not released. */
static uint64_t lgs_giver(uint64_t handle)
{
    const struct lgs_scope *scope = lgs_scope_behind(handle);
    return scope ? scope->inside : handle;
}

/* The callback uses something of another handle's, or the one in which the call is made: that does not end before it. */
static bool lgs_scope_use(struct lgs_call *c, struct lgs_scope *scope)
{
    if (c->calls_back)
        lgs_need_mark(c);
    unsigned at = c->failed ? 0 : lgs_thread.depth;
    while (at && !lgs_thread.marks[at - 1].calls_back)
        at--;
    if (!at)
        return !c->failed;
    union lgs_head **of_frame = &lgs_thread.marks[at - 1].owned;
    for (const union lgs_head *owned = *of_frame; owned; owned = owned->next)
        if (owned->scope == scope)
            return true;
    union lgs_head *owned = calloc(1, sizeof *owned);
    if (!owned)
        return false;
    *owned = (union lgs_head){{.next = *of_frame, .base = owned, .scope = scope}};
    *of_frame = owned;
    scope->users++;
    return true;
}

static void lgs_scope_left(struct lgs_scope *scope)
{
    pthread_mutex_lock(&lgs.lock);
    scope->users--;
    pthread_cond_broadcast(&lgs.left);
    pthread_mutex_unlock(&lgs.lock);
}

/* The domain has ended, and all handles with it. In a child the lists may have been changing when it was made: they are left alone. */
static void lgs_scopes_end(bool child)
{
    for (size_t place = 1; place <= lgs.scope_count; place++) {
        struct lgs_scope *scope = &lgs.scopes[place];
        if (scope->type) {
            scope->held = true;
            lgs_scope_die(scope);
        }
        if (child) /* (What was lent stays the program's, and so does where errors jump to: such a list is whole at any moment.) */
            *scope = (struct lgs_scope){.inside = scope->inside, .held = scope->held, .next = scope->next, .jumps = scope->jumps};
        else
            lgs_scope_clear(scope);
    }
    if (child)
        lgs.first_free = lgs.last_free = 0, lgs.free_count = 0;
}
