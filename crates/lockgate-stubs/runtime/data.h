/* ---- the program's own pointers: numbers to the library ---------------------------------------------------------------------- */

static inline struct lgs_token *lgs_token(size_t token)
{
    return &lgs.data[(token - 1) / LGS_TOKENS][(token - 1) % LGS_TOKENS];
}

/* The number of a pointer that comes together with `function`, or, if that is null, for every callback whose data comes alone. */
static uint64_t lgs_data(struct lgs_call *c, const void *data, void (*function)(void), const char *what)
{
    if (c->failed || !data)
        return 0;
    pthread_mutex_lock(&lgs.lock);
    size_t token = lgs.data_count;
    while (token && (lgs_token(token)->data != data || lgs_token(token)->function != function))
        token--;
    size_t chunk = lgs.data_count / LGS_TOKENS;
    if (!token && chunk < LGS_TOKENS && (lgs.data[chunk] || (lgs.data[chunk] = calloc(LGS_TOKENS, sizeof **lgs.data)))) {
        token = lgs.data_count + 1;
        *lgs_token(token) = (struct lgs_token){(void *)(uintptr_t)data, function};
        __atomic_store_n(&lgs.data_count, token, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!token)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
    return token;
}

/* The pointer of a number that was given: to `callback`, or, if that is null, at all. A handle may stand in its place. */
static void *lgs_data_out(struct lgs_call *c, const struct lgs_callback *callback, uint64_t token, const char *what)
{
    if (c->failed || !token)
        return 0;
    if (token - (uint32_t)token == lgs.window && !(token & 7) && lgs.tags[(uint32_t)token >> 3])
        return lgs.handles + (uint32_t)token;
    void *data = 0;
    if (token <= __atomic_load_n(&lgs.data_count, __ATOMIC_ACQUIRE)) {
        const struct lgs_token *given = lgs_token(token);
        if (!callback || given->function == (callback->bound ? callback->function : 0))
            data = given->data;
    }
    if (!data)
        lgs_fail(c, LG_STUB_DATA, what, "the library passed user data that it was not given for this");
    return data;
}
