/* ---- the program's own pointers: numbers to the library ---------------------------------------------------------------------- */

/* The number of a pointer that comes together with `function`, or, if that is null, for every callback whose data comes alone. */
static uint64_t lgs_data(struct lgs_call *c, const void *data, void (*function)(void), const char *what)
{
    if (c->failed || !data)
        return 0;
    pthread_mutex_lock(&lgs.lock);
    size_t token = lgs.data_count;
    while (token && (lgs.data[token - 1].data != data || lgs.data[token - 1].function != function))
        token--;
    if (!token && lgs.data_count == lgs.data_room) {
        size_t room = lgs.data_room ? lgs.data_room * 2 : 64;
        struct lgs_token *grown = realloc(lgs.data, room * sizeof *grown);
        lgs.data = grown ? grown : lgs.data;
        lgs.data_room = grown ? room : lgs.data_room;
    }
    if (!token && lgs.data_count < lgs.data_room) {
        lgs.data[lgs.data_count] = (struct lgs_token){(void *)(uintptr_t)data, function};
        token = ++lgs.data_count;
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
    pthread_mutex_lock(&lgs.lock);
    if (token <= lgs.data_count) {
        const struct lgs_token *given = &lgs.data[token - 1];
        if (!callback || given->function == (callback->bound ? callback->function : 0))
            data = given->data;
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!data)
        lgs_fail(c, LG_STUB_DATA, what, "the library passed user data that it was not given for this");
    return data;
}
