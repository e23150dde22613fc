/* ---- the program's own pointers: numbers to the library ----------------------------------------------------------------------
 *
 * A pointer is given for a handle, or for a call where there is none, and, if it came with one, for a callback only. It ends with that handle or call,
 * and comes back to no other: the program knows what is behind it only because it knows what it has given to whom. */

static inline struct lgs_token *lgs_token(size_t place)
{
    return &lgs.data[(place - 1) / LGS_TOKENS][(place - 1) % LGS_TOKENS];
}

/* The function of data that no handler gets, because handlers get the handle. */
static void lgs_no_handler(void)
{
}

static size_t *lgs_data_bucket(const void *data, void (*function)(void), uint64_t key)
{
    uint64_t mixed = ((uintptr_t)data ^ (uintptr_t)function * 31 ^ key * 961) * 0x9e3779b97f4a7c15u;
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
            size_t *bucket = lgs_data_bucket(token->data, token->function, token->key);
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
    size_t *at = lgs_data_bucket(token->data, token->function, token->key);
    while (*at != place)
        at = &lgs_token(*at)->next;
    *at = token->next;
}

static void lgs_data_link(size_t place)
{
    struct lgs_token *token = lgs_token(place);
    size_t *bucket = lgs_data_bucket(token->data, token->function, token->key);
    token->next = *bucket;
    *bucket = place;
}

/* A free place; 0 if there is no memory. */
static size_t lgs_data_place(void)
{
    size_t place = lgs.data_free;
    if (place) {
        lgs.data_free = lgs_token(place)->next;
        return place;
    }
    size_t chunk = lgs.data_count / LGS_TOKENS;
    if (chunk == LGS_CHUNKS || !(lgs.data[chunk] || (lgs.data[chunk] = calloc(LGS_TOKENS, sizeof **lgs.data))))
        return 0;
    __atomic_store_n(&lgs_token(lgs.data_count + 1)->number, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&lgs.data_count, lgs.data_count + 1, __ATOMIC_RELEASE);
    return lgs.data_count;
}

/* The program gives it. No address is as high as its number, and none of the earlier numbers of this place is the same. */
static uint64_t lgs_data_give(size_t place, const struct lgs_token *with, uint64_t handle, size_t sibling)
{
    struct lgs_token *token = lgs_token(place);
    uint32_t round = token->round + 1;
    uint64_t call = token->call;
    *token = *with;
    token->handle = handle;
    token->call = call;
    token->round = round;
    token->sibling = sibling;
    uint64_t number = (uint64_t)(0x1000000u + (round & 0xffffff)) << 32 | place;
    __atomic_store_n(&token->number, number, __ATOMIC_RELEASE);
    return number;
}

/* Null is the same for all, and the library gets no number for it: it is found by who may pass it, a handle's whole family. */
static uint64_t lgs_data_key(const void *data, const struct lgs_scope *scope)
{
    return !scope ? 0 : data ? scope->inside : scope->family | (uint64_t)1 << 63;
}

/* The place of a pointer that is given for functions, or for any, with `handle`. Without one it is given for good. */
static size_t lgs_data_new(struct lgs_token *with, uint64_t handle)
{
    const void *data = with->data;
    void (*function)(void) = with->function;
    struct lgs_scope *scope = handle ? lgs_life(handle) : 0;
    if ((handle && !scope) || !lgs_data_room())
        return 0;
    if (!function && data)
        *(scope ? &scope->alone : &lgs.alone) = true;
    if (scope && scope->itself && !function)
        with->function = function = lgs_no_handler;
    uint64_t key = lgs_data_key(data, scope);
    size_t place = *lgs_data_bucket(data, function, key);
    for (; place; place = lgs_token(place)->next) {
        const struct lgs_token *token = lgs_token(place);
        if (token->data == data && token->function == function && token->handle == handle && token->by == with->by &&
            token->field == with->field && memcmp(token->others, with->others, sizeof token->others) == 0)
            return place;
    }
    if (!(place = lgs_data_place()))
        return 0;
    lgs_data_give(place, with, handle, scope ? scope->data : 0);
    lgs_token(place)->key = key;
    if (scope)
        scope->data = place;
    lgs_data_link(place);
    lgs.data_used++;
    return place;
}

/* How long data is given: for the handle, or, where there is none, for the call; for good where there is none (LG_KEPT); for the call, whatever handle there is. */
enum { LGS_FOR_HANDLE, LGS_FOR_GOOD, LGS_FOR_CALL };

/* The number of a pointer that comes together with those of `count` functions that are not null, or, if there is none, alone. Null has none, but it is
 * remembered that it was given, unless the function is missing that it comes with. */
static uint64_t lgs_data(struct lgs_call *c, const void *data, const lg_code *functions, unsigned count, int how_long, const char *field, const char *what)
{
    uint64_t number = 0;
    bool alone = !count;
    struct lgs_token with = {.data = (void *)(uintptr_t)data, .by = c->function, .field = field};
    for (unsigned i = 0, others = 0; i < count; i++)
        if (functions[i] && !with.function)
            with.function = functions[i];
        else if (functions[i] && others < LGS_SHARERS - 1)
            with.others[others++] = functions[i];
    void (*function)(void) = with.function;
    bool brief = how_long == LGS_FOR_CALL;
    /* (What is given for a call only is a callback's that comes with it.) */
    if (c->failed || (!function && (brief || (!data && !alone))))
        return 0;
    /* (What comes with functions that are all null is for none, not for any.) */
    if (!function && !alone)
        with.function = lgs_no_handler;
    if (brief || c->makes || !(c->handle || how_long == LGS_FOR_GOOD)) {
        lgs_need_mark(c);
        lgs_watch();
        size_t place = lgs_thread.spare;
        lgs_thread.spare = 0;
        if (!place) {
            pthread_mutex_lock(&lgs.lock);
            place = lgs_data_place();
            pthread_mutex_unlock(&lgs.lock);
        }
        if (c->failed || !place) {
            lgs_thread.spare = place;
        } else {
            struct lgs_mark *mark = &lgs_thread.marks[lgs_thread.depth - 1];
            lgs_token(place)->call = lgs_serial(c);
            number = lgs_data_give(place, &with, 0, mark->data);
            lgs_token(place)->brief = brief;
            mark->data = place;
        }
    } else {
        pthread_mutex_lock(&lgs.lock);
        size_t place = lgs_data_new(&with, lgs_giver(c->handle));
        number = place ? lgs_token(place)->number : 0;
        pthread_mutex_unlock(&lgs.lock);
    }
    if (!number)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
    return data ? number : 0;
}

static void lgs_data_free(size_t place)
{
    struct lgs_token *token = lgs_token(place);
    __atomic_store_n(&token->number, 0, __ATOMIC_RELEASE);
    if (!token->call) {
        lgs_data_unlink(place);
        lgs.data_used--;
    }
    token->call = 0;
    token->next = lgs.data_free;
    lgs.data_free = place;
}

/* What was given for a handle ends. */
static void lgs_data_end(size_t *first)
{
    for (size_t place = *first, next; place; place = next) {
        next = lgs_token(place)->sibling;
        lgs_data_free(place);
    }
    *first = 0;
}

/* What was given for a call ends. */
static void lgs_data_end_of_call(size_t *first)
{
    size_t place = *first;
    if (!lgs_thread.spare) {
        *first = lgs_token(place)->sibling;
        __atomic_store_n(&lgs_token(place)->number, 0, __ATOMIC_RELEASE);
        lgs_thread.spare = place;
        if (!*first)
            return;
    }
    pthread_mutex_lock(&lgs.lock);
    lgs_data_end(first);
    pthread_mutex_unlock(&lgs.lock);
}

/* The thread ends. */
static void lgs_data_spare_free(void)
{
    pthread_mutex_lock(&lgs.lock);
    if (lgs_thread.spare)
        lgs_data_free(lgs_thread.spare);
    lgs_thread.spare = 0;
    pthread_mutex_unlock(&lgs.lock);
}

/* Handlers get none of the data any more that was given alone: from now on this handle (`itself`), or what is given next. */
static void lgs_handlers_get(uint64_t handle, bool itself)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_life(handle);
    for (size_t place = scope ? scope->data : 0; place; place = lgs_token(place)->sibling)
        if (!lgs_token(place)->function) {
            lgs_data_unlink(place);
            __atomic_store_n(&lgs_token(place)->function, lgs_no_handler, __ATOMIC_RELEASE);
            lgs_data_link(place);
        }
    if (scope)
        scope->itself = scope->alone = itself;
    pthread_mutex_unlock(&lgs.lock);
}

/* The library has forgotten what was given with this handle alone, and the program sees so (LG_SHOWN). */
static void lgs_reset(uint64_t handle)
{
    lgs_handlers_get(handle, false);
    const struct lgs_scope *scope = lgs_scope_of(handle);
    if (scope)
        memset(lgs_scope_host(scope), 0, sizeof(void *));
}

/* The call has made a handle that is the program's: of the family of the one that it was made with. `first`: what was given for the call is for this. */
static void lgs_born(struct lgs_call *c, const void *host, bool first, struct lgs_made *made)
{
    size_t at = lgs_scope_place(host);
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = at ? &lgs.scopes[at] : 0, *maker = lgs_scope_of(c->handle);
    if (scope && scope->type) {
        if (!scope->family || (made && made->place == at && made->family == scope->family)) {
            bool of = maker && maker != scope && maker->family;
            scope->family = of ? maker->family : ++lgs.births;
            scope->itself = of && maker->itself;
            scope->alone = of && maker->alone;
        }
        struct lgs_mark *mark = first && c->marked ? &lgs_thread.marks[lgs_thread.depth - 1] : 0;
        for (size_t *list = mark ? &mark->data : 0, place; list && (place = *list) && lgs_data_room();) {
            struct lgs_token *token = lgs_token(place);
            if (token->brief) {
                list = &token->sibling;
                continue;
            }
            *list = token->sibling;
            if (!token->function && scope->itself)
                __atomic_store_n(&token->function, lgs_no_handler, __ATOMIC_RELEASE);
            scope->alone |= !token->function && token->data;
            token->key = lgs_data_key(token->data, scope);
            token->sibling = scope->data;
            scope->data = place;
            __atomic_store_n(&token->handle, scope->inside, __ATOMIC_RELEASE);
            __atomic_store_n(&token->call, 0, __ATOMIC_RELEASE);
            lgs_data_link(place);
            lgs.data_used++;
        }
        for (const union lgs_head *owned = mark ? mark->owned : 0; owned; owned = owned->next)
            if (owned->keeps) {
                owned->stream->kept = true;
                owned->stream->handle = scope->inside;
            }
        for (union lgs_head *owned = mark ? mark->owned : 0; owned; owned = owned->next)
            if (owned->kept) {
                owned->kept->next = scope->kept;
                scope->kept = owned->kept;
                owned->kept = 0;
            }
    }
    if (made)
        made->place = 0;
    pthread_mutex_unlock(&lgs.lock);
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
    given->by = __atomic_load_n(&token->by, __ATOMIC_ACQUIRE);
    given->field = __atomic_load_n(&token->field, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < LGS_SHARERS - 1; i++)
        given->others[i] = __atomic_load_n(&token->others[i], __ATOMIC_ACQUIRE);
    /* (What was a call's becomes a handle's in the opposite order.) */
    given->call = __atomic_load_n(&token->call, __ATOMIC_ACQUIRE);
    given->handle = __atomic_load_n(&token->handle, __ATOMIC_ACQUIRE);
    /* Freed meanwhile, it may be another's by now. */
    return __atomic_load_n(&token->number, __ATOMIC_ACQUIRE) == number;
}

/* `handle` is of the family of the call's, and the callback that is in progress has something of it, from now on. `given`: the
 * program has said whether handlers get `itself`, or (LGS_EITHER) that does not matter. */
enum { LGS_ITS_DATA, LGS_ITSELF, LGS_EITHER };
static __attribute__((noinline)) bool lgs_is_near(struct lgs_call *c, uint64_t handle, int what)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *given = lgs_scope_of(handle);
    const struct lgs_scope *here = lgs_scope_of(c->handle);
    if (!given || !given->family)
        given = 0;
    const struct lgs_scope *behind = lgs_scope_behind(c->handle);
    bool near = given && behind && behind->family == given->family;
    if (given && what != LGS_EITHER && here && here->family && here->itself != (what == LGS_ITSELF))
        given = 0;
    near &= given && (what == LGS_EITHER || given->itself >= (what == LGS_ITSELF));
    near = near && (given == here || lgs_scope_use(c, given));
    pthread_mutex_unlock(&lgs.lock);
    return near;
}

static bool lgs_data_has(const void *data, void (*function)(void), uint64_t key)
{
    size_t place = lgs.data_bucket_count ? *lgs_data_bucket(data, function, key) : 0;
    for (; place; place = lgs_token(place)->next) {
        const struct lgs_token *token = lgs_token(place);
        if (token->data == data && token->function == function && token->key == key)
            return true;
    }
    return false;
}

/* Null, too, goes only to whom it was given: with this function, for the family of the call's handle, for the call or for good. A function that came without
 * data gets it as long as there is none either for the handle or the call. */
static __attribute__((noinline)) bool lgs_null_given(const struct lgs_call *c, const struct lgs_callback *callback)
{
    bool null = false, none = !callback->bound;
    void (*function)(void) = callback->bound ? callback->function : 0;
    for (unsigned i = c->serial ? lgs_thread.depth : 0; i--;)
        for (size_t place = lgs_thread.marks[i].data; place; place = lgs_token(place)->sibling) {
            const struct lgs_token *token = lgs_token(place);
            if (token->call != c->serial || token->function != function)
                continue;
            null |= !token->data;
            none = false;
        }
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = lgs_scope_behind(c->handle);
    none &= !lgs.alone && !(scope && scope->alone);
    null |= none || (scope && scope->family && lgs_data_has(0, function, lgs_data_key(0, scope))) || lgs_data_has(0, function, 0);
    pthread_mutex_unlock(&lgs.lock);
    return null;
}

/* The pointer of a number that was given: to `callback`, or, if that is null, for the handle of the call. */
static void *lgs_data_out(struct lgs_call *c, const struct lgs_callback *callback, uint64_t number, int flags, const char *what)
{
    if (c->failed)
        return 0;
    if (!number) {
        if (callback && !(flags & LGS_NULLABLE) && !lgs_null_given(c, callback))
            lgs_fail(c, LG_STUB_DATA, what, "the library passed a null pointer for user data, and was given none (LG_NULLABLE says that it may)");
        return 0;
    }
    void *data = 0;
    struct lgs_token given;
    if (lgs_given(number, &given)) {
        bool bound = callback && callback->bound;
        bool mine = callback ? given.function == (bound ? callback->function : 0) : true;
        for (unsigned i = 0; bound && i < LGS_SHARERS - 1; i++)
            mine |= given.others[i] == callback->function;
        bool here = given.handle == c->handle && given.handle;
        if (mine && !here && !given.handle)
            here = !given.call || given.call == c->serial;
        if (mine && (here || (given.handle && lgs_is_near(c, given.handle, bound ? LGS_EITHER : LGS_ITS_DATA) && lgs_given(number, &given))))
            data = given.data;
    } else if (number - (uint32_t)number == lgs.window && callback && !callback->bound && lgs_is_near(c, number, LGS_ITSELF)) {
        const struct lgs_scope *scope = lgs_scope_of(number);
        data = scope ? lgs_scope_host(scope) : 0;
    }
    if (!data)
        lgs_fail(c, LG_STUB_DATA, what, "the library passed user data that it was not given for this");
    return data;
}

/* It was given to one of these functions, or in one of these fields. */
static bool lgs_is_from(const struct lgs_token *given, const char *const *by)
{
    while (*by && strcmp(*by, given->by) != 0 && !(given->field && strcmp(*by, given->field) == 0))
        by++;
    return *by;
}

/* The same in a structure that the library gives. What other fields and functions were given is of other kinds, which only the program knows. */
static void *lgs_data_of(struct lgs_call *c, uint64_t number, const char *const *by, const char *what)
{
    struct lgs_token given;
    if (!c->failed && number && lgs_given(number, &given) && !lgs_is_from(&given, by))
        lgs_fail(c, LG_STUB_DATA, what, "the library gave user data that the program gave for something else");
    return lgs_data_out(c, 0, number, 0, what);
}

/* The same for a function that gives data back: what was given to one of the functions `by`. Where its handle was only shown to the callback in which it is called,
 * it speaks of that callback. */
static __attribute__((noinline)) void *lgs_data_back(struct lgs_call *c, uint64_t number, const char *const *by, const char *what)
{
    struct lgs_token given;
    if (c->failed || !number)
        return 0;
    bool mine = lgs_given(number, &given) && lgs_is_from(&given, by);
    while (!c->marked && lgs_was_left(c))
        lgs_pop();
    unsigned at = lgs_thread.depth;
    while (at && !lgs_thread.marks[at - 1].calls_back)
        at--;
    const struct lgs_scope *scope = lgs_scope_of(c->handle);
    lg_code program = at && scope && !scope->family ? lgs_thread.marks[at - 1].program : 0;
    if (mine && program && given.function && given.function != lgs_no_handler) {
        mine = given.function == program;
        for (unsigned i = 0; i < LGS_SHARERS - 1; i++)
            mine |= given.others[i] == program;
    }
    if (!mine)
        lgs_fail(c, LG_STUB_DATA, what, "the library gave back user data that the program gave for something else");
    return lgs_data_out(c, 0, number, 0, what);
}
