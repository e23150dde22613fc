/* ---- arrays of pointers to buffers, or to strings --------------------------------------------------------------------------- */

struct lgs_rows {
    void *const *host; /* the program's pointers as they were before the call: what is copied out meanwhile may come over its own */
    struct lgs_far *const *parts; /* in memory of the program's */
    uint64_t inside;
    size_t count;
    size_t size; /* of each */
};

/* Copies them in: each `size` bytes long, or, if that is negative, a string. */
static struct lgs_rows lgs_rows(struct lgs_call *c, const void *const *host, lgs_wide count, lgs_wide size, int flags, const char *what)
{
    struct lgs_rows rows = {0, 0, 0, lgs_size(c, count, 8, what) / 8, size < 0 ? 0 : (size_t)size};
    lgs_private(c, host, rows.count * sizeof *host, what);
    if (c->failed || !host)
        return (struct lgs_rows){0, 0, 0, 0, 0};
    struct lgs_block pointers = lgs_room(c, 0, rows.count * 8);
    struct lgs_far **here = lgs_own(c, rows.count * sizeof *here, what);
    void **own = lgs_own(c, rows.count * sizeof *own, what);
    for (size_t i = 0; i < rows.count && here && own && !c->failed; i++) {
        own[i] = (void *)(uintptr_t)host[i];
        lgs_private(c, size < 0 ? own[i] : 0, 1, what);
        size_t length = size < 0 && own[i] && !c->failed ? strlen(own[i]) + 1 : rows.size;
        struct lgs_block row = lgs_block(c, own[i], length, flags);
        here[i] = row.here;
        if (pointers.here)
            lgs_put(lgs_far(pointers.here, i * 8), &row.inside, 8);
    }
    rows.host = own;
    rows.parts = here;
    rows.inside = pointers.inside;
    return rows;
}

/* Copies back what the library wrote. */
static void lgs_rows_back(const struct lgs_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->parts[i])
            lgs_fetch(rows->host[i], rows->parts[i], rows->size);
}
