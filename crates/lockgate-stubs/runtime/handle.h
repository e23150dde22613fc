/* ---- handles: an address among zeros, and a table of those that were given out -------------------------------------------- */

/* A handle that the library gives out. */
static void *lgs_handle_out(struct lgs_call *c, uint64_t address, unsigned char type, int flags, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, flags, what)))
        return 0;
    if ((uint32_t)address != address - lgs.window || address & 7) {
        lgs_fail(c, LG_STUB_HANDLE, what, "the library returned a handle outside its domain");
        return 0;
    }
    offset = (uint32_t)address;
    __atomic_store_n(&lgs.tags[offset >> 3], type, __ATOMIC_RELAXED);
    return lgs.handles + offset;
}

/* Whether the library gave out `host` as a handle of this type, and where it has that. */
static inline bool lgs_known(uint64_t *inside, const void *host, unsigned char type)
{
    uintptr_t offset = (uintptr_t)host - (uintptr_t)lgs.handles;
    if (__builtin_expect(offset >= LGS_WINDOW || offset & 7 || lgs.tags[offset >> 3] != type, 0))
        return false;
    *inside = lgs.window + offset;
    return true;
}

/* A handle that the program passes. */
static inline uint64_t lgs_handle(struct lgs_call *c, const void *host, unsigned char type, const char *what)
{
    uint64_t inside = 0;
    if (host && !c->failed && !lgs_known(&inside, host, type))
        lgs_fail(c, LG_STUB_HANDLE, what, "it is no handle of this type that this library has given out");
    return inside;
}

/* An array of handles of the library's. */
static void *lgs_handles(struct lgs_call *c, uint64_t address, lgs_wide count, unsigned char type, const char *what)
{
    size_t size = lgs_size(c, count, 8, what);
    if (!size)
        return 0;
    uint64_t *handles = lgs_array(c, address, count, 8, what);
    if (!handles) {
        lgs_fail(c, LG_STUB_NULL, what, "the library returned a null pointer");
        return 0;
    }
    for (size_t i = 0; i < size / 8; i++)
        handles[i] = (uint64_t)(uintptr_t)lgs_handle_out(c, handles[i], type, LGS_NULLABLE, what);
    return handles;
}
