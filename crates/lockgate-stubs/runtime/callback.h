/* ---- functions of the program that the library calls ---------------------------------------------------------------------- */

static struct lgs_callback *lgs_callback_find(struct lgs_callback *callback, void (*function)(void), unsigned type, bool bound)
{
    while (callback && (callback->function != function || callback->type != type || callback->bound != bound))
        callback = callback->next;
    return callback;
}

/* The pointer by which the library calls `function`, made when it is first passed. */
static uint64_t lgs_callback(struct lgs_call *c, void (*function)(void), unsigned type, bool bound, const char *what)
{
    if (c->failed || !function)
        return 0;
    struct lgs_callback **bucket = &lgs.callbacks[((uintptr_t)function >> 4) % LGS_BUCKETS];
    /* (They stay as long as the domain.) */
    struct lgs_callback *callback = lgs_callback_find(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), function, type, bound);
    if (callback)
        return callback->inside;
    pthread_mutex_lock(&lgs.lock);
    callback = lgs_callback_find(*bucket, function, type, bound);
    if (!callback && (callback = malloc(sizeof *callback))) {
        const struct lgs_trampoline *trampoline = &lgs_trampolines[type];
        *callback = (struct lgs_callback){0, function, type, bound, 0, *bucket};
        callback->made = lg_callback_new(lgs.domain, trampoline->prototype, trampoline->code, callback);
        callback->inside = (uint64_t)(uintptr_t)lg_callback_pointer(callback->made);
        if (callback->inside) {
            __atomic_store_n(bucket, callback, __ATOMIC_RELEASE);
        } else {
            free(callback);
            callback = 0;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!callback)
        lgs_fail(c, LG_STUB_MEMORY, what, "the library has all function pointers that it can have");
    return callback ? callback->inside : 0;
}

/* The program's function behind a pointer of the library's: one that was given alone. (One that came with data belongs to that: the library would say which
 * function the program calls with which data.) */
static void (*lgs_callback_out(struct lgs_call *c, uint64_t address, unsigned type, const char *what))(void)
{
    void (*function)(void) = 0;
    if (c->failed || !address)
        return 0;
    pthread_mutex_lock(&lgs.lock);
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        for (struct lgs_callback *callback = lgs.callbacks[i]; callback; callback = callback->next)
            if (callback->inside == address && callback->type == type && !callback->bound)
                function = callback->function;
    pthread_mutex_unlock(&lgs.lock);
    if (!function)
        lgs_fail(c, LG_STUB_CALLBACK, what, "the library returned a function pointer that it was never given, or that came with data");
    return function;
}

/* A callback begins: it is given what its call, the innermost, was given. Most need no mark; but where the domain may restart, or a function gives data back, its
 * calls ask for it. */
static inline __attribute__((always_inline)) void lgs_called_by(struct lgs_call *c, const char *name)
{
    *c = (struct lgs_call){.function = name, .frame = LGS_FRAME, .calls_back = true, .handle = lgs_thread.handle, .serial = lgs_thread.call};
    if (LGS_CALLS_BACK && __builtin_expect((c->before = lgs_thread.before) != 0, 0))
        lgs_keep_before(c);
    if (LGS_JUMPS)
        c->jumps = lgs_thread.jumps;
    if (LGS_SILENT && __builtin_expect((c->silent = lgs_thread.silent), 0))
        lgs_fail(c, LG_STUB_CALLBACK, "call", "it came from a function that is declared to call back nothing (pure, const, leaf)");
    if (LGS_RESTARTS)
        c->generation = lgs.generation;
    lgs_copies_begin();
    if (LGS_RESTARTS || LGS_GIVES_DATA)
        lgs_mark(c);
}

/* It is a callback of this function's. */
static inline __attribute__((always_inline)) void lgs_calls_for(const struct lgs_call *c, lg_code program)
{
    if (LGS_GIVES_DATA && c->marked)
        lgs_thread.marks[lgs_thread.depth - 1].program = program;
}

/* The program's function is called: while it runs a domain that restarts may do so. What the callback had of the old one is gone then. */
static inline __attribute__((always_inline)) void lgs_calls(struct lgs_call *c)
{
    (void)c;
    if (LGS_RESTARTS)
        lgs_calls_out();
}

/* It has returned. */
static inline __attribute__((always_inline)) void lgs_called(struct lgs_call *c)
{
    (void)c;
    if (LGS_RESTARTS)
        lgs_called_back(c);
}

/* It ends, and its call goes on. If what the library passed was refused, that is refused, too. */
static inline void lgs_leave(struct lgs_call *c)
{
    lgs_calls_in(c);
    if (__builtin_expect(c->failed, 0)) {
        lgs_thread.failed = true;
        lg_end_call(lgs_thread.jump ? "the library jumped" : lgs_thread.error.message);
    }
    lgs_unmark(c);
}
