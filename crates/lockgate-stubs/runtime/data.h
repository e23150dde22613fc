/* ---- the program's own pointers: numbers to the library ----------------------------------------------------------------------
 *
 * A pointer is for the callback that it came with, or else for the handle that it was given for, and is forgotten with that handle. It comes back
 * to no other: the program knows what is behind it only because it knows what it has given to whom. */

static inline struct lgs_token *lgs_token(size_t place)
{
    return &lgs.data[(place - 1) / LGS_TOKENS][(place - 1) % LGS_TOKENS];
}

/* The function of data that no handler gets, because handlers get the handle. */
static void lgs_nobody(void)
{
}

static size_t *lgs_data_bucket(const void *data, void (*function)(void), uint64_t handle)
{
    uint64_t mixed = ((uintptr_t)data ^ (uintptr_t)function * 31 ^ handle * 961) * 0x9e3779b97f4a7c15u;
    return &lgs.data_buckets[mixed >> 32 & (lgs.data_bucket_count - 1)];
}

/* Room for one more. The lock is held, here and in what follows. */
static bool lgs_data_room(void)
{
    if (lgs.data_used < lgs.data_bucket_count)
        return true;
    size_t before = lgs.data_bucket_count, count = before ? before * 2 : 64;
    size_t *buckets = calloc(count, sizeof *buckets), *old = lgs.data_buckets;
    if (!buckets)
        return false;
    lgs.data_buckets = buckets;
    lgs.data_bucket_count = count;
    for (size_t i = 0; i < before; i++)
        for (size_t place = old[i], next; place; place = next) {
            struct lgs_token *token = lgs_token(place);
            size_t *bucket = lgs_data_bucket(token->data, token->function, token->handle);
            next = token->next;
            token->next = *bucket;
            *bucket = place;
        }
    free(old);
    return true;
}

static void lgs_data_unlink(size_t place)
{
    struct lgs_token *token = lgs_token(place);
    size_t *at = lgs_data_bucket(token->data, token->function, token->handle);
    while (*at != place)
        at = &lgs_token(*at)->next;
    *at = token->next;
}

static void lgs_data_link(size_t place)
{
    struct lgs_token *token = lgs_token(place);
    size_t *bucket = lgs_data_bucket(token->data, token->function, token->handle);
    token->next = *bucket;
    *bucket = place;
}

static struct lgs_life **lgs_life_at(uint64_t handle)
{
    struct lgs_life **at = &lgs.lives[(handle >> 4 ^ handle >> 12) % LGS_BUCKETS];
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

static struct lgs_life *lgs_life(uint64_t handle, uint64_t maker)
{
    struct lgs_life **at = lgs_life_at(handle), *life = *at;
    if (!life && handle && (life = calloc(1, sizeof *life))) {
        const struct lgs_life *of = maker && maker != handle ? *lgs_life_at(maker) : 0;
        *life = (struct lgs_life){.handle = handle, .family = of ? of->family : ++lgs.births, .itself = of && of->itself};
        *at = life;
        lgs.remembers = true;
    }
    return life;
}

/* The place of a pointer that is given for `function`, or for `handle`; 0 if there is no memory. */
static size_t lgs_data_new(const void *data, void (*function)(void), uint64_t handle)
{
    struct lgs_life *life = handle ? lgs_life(handle, 0) : 0;
    if (handle && !life)
        return 0;
    if (life && life->itself && !function)
        function = lgs_nobody;
    if (!lgs_data_room())
        return 0;
    size_t place = *lgs_data_bucket(data, function, handle);
    for (; place; place = lgs_token(place)->next) {
        const struct lgs_token *token = lgs_token(place);
        if (token->data == data && token->function == function && token->handle == handle)
            return place;
    }
    if ((place = lgs.data_free)) {
        lgs.data_free = lgs_token(place)->next;
    } else {
        size_t chunk = lgs.data_count / LGS_TOKENS;
        if (chunk == LGS_CHUNKS || !(lgs.data[chunk] || (lgs.data[chunk] = calloc(LGS_TOKENS, sizeof **lgs.data))))
            return 0;
        place = lgs.data_count + 1;
        __atomic_store_n(&lgs.data_count, place, __ATOMIC_RELEASE);
    }
    struct lgs_token *token = lgs_token(place);
    token->data = (void *)(uintptr_t)data;
    token->function = function;
    token->handle = handle;
    if (life) {
        token->sibling = life->data;
        life->data = place;
    }
    lgs_data_link(place);
    lgs.data_used++;
    /* No address is as high, and none of the earlier numbers of this place is the same. */
    uint64_t round = 0x1000000u + (lgs.data_round++ & 0xffffff);
    __atomic_store_n(&token->number, round << 32 | place, __ATOMIC_RELEASE);
    return place;
}

/* The number of a pointer that comes together with `function`, or, if that is null, alone. */
static uint64_t lgs_data(struct lgs_call *c, const void *data, void (*function)(void), const char *what)
{
    if (c->failed || !data)
        return 0;
    pthread_mutex_lock(&lgs.lock);
    size_t place = lgs_data_new(data, function, c->handle);
    uint64_t number = place ? lgs_token(place)->number : 0;
    pthread_mutex_unlock(&lgs.lock);
    if (!number)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
    return number;
}

/* The handle that the program knows as `host`, as the library has it. */
static inline uint64_t lgs_inner(const void *host)
{
    return host ? lgs.window + ((uintptr_t)host - (uintptr_t)lgs.handles) : 0;
}

/* The pointer of this number came for a handle that was only now made. */
static void lgs_data_for(uint64_t number, const void *host)
{
    uint64_t handle = lgs_inner(host);
    pthread_mutex_lock(&lgs.lock);
    struct lgs_life *life = number && handle ? lgs_life(handle, 0) : 0;
    struct lgs_token *token = life ? lgs_token((uint32_t)number) : 0;
    if (token && token->number == number && !token->handle) {
        lgs_data_unlink((uint32_t)number);
        token->sibling = life->data;
        life->data = (uint32_t)number;
        __atomic_store_n(&token->handle, handle, __ATOMIC_RELEASE);
        lgs_data_link((uint32_t)number);
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* Handlers get this handle in place of data, from now on. */
static void lgs_itself(uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_life *life = handle ? lgs_life(handle, 0) : 0;
    for (size_t place = life ? life->data : 0; place; place = lgs_token(place)->sibling)
        if (!lgs_token(place)->function) {
            lgs_data_unlink(place);
            __atomic_store_n(&lgs_token(place)->function, lgs_nobody, __ATOMIC_RELEASE);
            lgs_data_link(place);
        }
    if (life)
        life->itself = true;
    pthread_mutex_unlock(&lgs.lock);
}

/* A handle that is the program's was made, by a call with `maker`. */
static void lgs_born(const void *host, uint64_t maker)
{
    pthread_mutex_lock(&lgs.lock);
    lgs_life(lgs_inner(host), maker);
    pthread_mutex_unlock(&lgs.lock);
}

/* The library may not give the program the same handle twice: what it has given for one would be the other's. */
static void lgs_unborn(struct lgs_call *c, const void *host, const char *what)
{
    pthread_mutex_lock(&lgs.lock);
    bool lives = host && *lgs_life_at(lgs_inner(host));
    pthread_mutex_unlock(&lgs.lock);
    if (lives)
        lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle that the program has already (LG_BORROWED says that it may)");
}

static void lgs_data_free(size_t place)
{
    struct lgs_token *token = lgs_token(place);
    lgs_data_unlink(place);
    __atomic_store_n(&token->number, 0, __ATOMIC_RELEASE);
    token->next = lgs.data_free;
    lgs.data_free = place;
    lgs.data_used--;
}

/* The handle is no more, nor what was given for it. */
static void lgs_life_ends(uint64_t handle)
{
    struct lgs_life **at = lgs_life_at(handle), *life = *at;
    if (!life)
        return;
    for (size_t place = life->data, next; place; place = next) {
        next = lgs_token(place)->sibling;
        lgs_data_free(place);
    }
    *at = life->next;
    free(life);
}

/* What is known of the pointer of a number, if it is one. */
static bool lgs_given(uint64_t number, struct lgs_token *given)
{
    size_t place = (uint32_t)number;
    if (!place || place > __atomic_load_n(&lgs.data_count, __ATOMIC_ACQUIRE))
        return false;
    const struct lgs_token *token = lgs_token(place);
    if (__atomic_load_n(&token->number, __ATOMIC_ACQUIRE) != number)
        return false;
    given->data = __atomic_load_n(&token->data, __ATOMIC_ACQUIRE);
    given->function = __atomic_load_n(&token->function, __ATOMIC_ACQUIRE);
    given->handle = __atomic_load_n(&token->handle, __ATOMIC_ACQUIRE);
    /* Freed meanwhile, it may be another's by now. */
    return __atomic_load_n(&token->number, __ATOMIC_ACQUIRE) == number;
}

/* `handle` is of the family of one whose call is in progress on this thread. */
static __attribute__((noinline)) bool lgs_is_near(const struct lgs_call *c, uint64_t handle, bool itself)
{
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_life *given = *lgs_life_at(handle);
    const struct lgs_life *here = given ? *lgs_life_at(c->handle) : 0;
    bool near = here && here->family == given->family;
    if (here && here->itself != itself)
        given = 0;
    for (unsigned i = lgs_thread.depth; given && !near && i--;) {
        const struct lgs_mark *mark = &lgs_thread.marks[i];
        const struct lgs_life *outer = mark->calls_back ? *lgs_life_at(mark->handle) : 0;
        near = outer && outer->family == given->family;
    }
    near &= given && given->itself >= itself;
    pthread_mutex_unlock(&lgs.lock);
    return near;
}

/* The pointer of a number that was given: to `callback`, or, if that is null, for the handle of the call. */
static void *lgs_data_out(struct lgs_call *c, const struct lgs_callback *callback, uint64_t number, const char *what)
{
    if (c->failed || !number)
        return 0;
    void *data = 0;
    struct lgs_token given;
    if (lgs_given(number, &given)) {
        bool mine = callback ? given.function == (callback->bound ? callback->function : 0) : true;
        bool bound = callback && callback->bound;
        if (mine && (bound || given.handle == c->handle || !given.handle || lgs_is_near(c, given.handle, false)))
            data = given.data;
    } else if (number - (uint32_t)number == lgs.window && callback && !callback->bound && lgs_is_near(c, number, true)) {
        data = lgs.handles + (uint32_t)number;
    }
    if (!data)
        lgs_fail(c, LG_STUB_DATA, what, "the library passed user data that it was not given for this");
    return data;
}
