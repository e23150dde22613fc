/* ---- functions of the program that the library calls ---------------------------------------------------------------------- */

/* The pointer by which the library calls `function`, made when it is first passed. */
static uint64_t lgs_callback(struct lgs_call *c, void (*function)(void), unsigned type, bool bound, const char *what)
{
    if (c->failed || !function)
        return 0;
    struct lgs_callback **bucket = &lgs.callbacks[((uintptr_t)function >> 4) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    struct lgs_callback *callback = *bucket;
    while (callback && (callback->function != function || callback->type != type || callback->bound != bound))
        callback = callback->next;
    if (!callback && (callback = malloc(sizeof *callback))) {
        const struct lgs_trampoline *trampoline = &lgs_trampolines[type];
        *callback = (struct lgs_callback){0, function, type, bound, 0, *bucket};
        callback->made = lg_callback_new(lgs.domain, trampoline->prototype, trampoline->code, callback);
        callback->inside = (uint64_t)(uintptr_t)lg_callback_pointer(callback->made);
        if (callback->inside) {
            *bucket = callback;
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

/* The program's function behind a pointer of the library's: one that was given. */
static void (*lgs_callback_out(struct lgs_call *c, uint64_t address, unsigned type, const char *what))(void)
{
    void (*function)(void) = 0;
    if (c->failed || !address)
        return 0;
    pthread_mutex_lock(&lgs.lock);
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        for (struct lgs_callback *callback = lgs.callbacks[i]; callback; callback = callback->next)
            if (callback->inside == address && callback->type == type)
                function = callback->function;
    pthread_mutex_unlock(&lgs.lock);
    if (!function)
        lgs_fail(c, LG_STUB_CALLBACK, what, "the library returned a function pointer that it was never given");
    return function;
}

/* Calls that the program makes from now on have handles of their own. */
static inline void lgs_mark_callback(struct lgs_call *c)
{
    lgs_mark(c);
    lgs_copies_begin();
    if (__builtin_expect(c->failed, 0))
        return;
    struct lgs_mark *mark = &lgs_thread.marks[lgs_thread.depth - 1];
    mark->calls_back = true;
    mark->handle = c->handle;
    c->generation = lgs.generation;
}

/* A callback begins. */
static inline __attribute__((always_inline)) const struct lgs_callback *lgs_enter(struct lgs_call *c)
{
    const struct lgs_callback *callback = lg_user_data();
    *c = (struct lgs_call){.function = lgs_trampolines[callback->type].name, .frame = LGS_FRAME, .handle = lgs_thread.handle};
    lgs_mark_callback(c);
    return callback;
}

/* The same of a function that the library calls by name. */
static inline __attribute__((always_inline)) void lgs_enter_gate(struct lgs_call *c, const char *name)
{
    *c = (struct lgs_call){.function = name, .frame = LGS_FRAME, .handle = lgs_thread.handle};
    lgs_mark_callback(c);
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

/* It ends. If what the library passed was refused, so is the call that it came from. */
static void lgs_leave(struct lgs_call *c)
{
    if (__builtin_expect(c->failed, 0)) {
        lgs_thread.failed = true;
        lg_end_call(lgs_thread.jump ? "the library jumped" : lgs_thread.error.message);
    }
    lgs_unmark(c);
}
