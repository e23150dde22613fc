/* ---- handles by number, places ------------------------------------------------------------------------------------------- */

/* An array of handles of the library's. It ends with the call, or stays. */
static void *lgs_handles(struct lgs_call *c, uint64_t address, lgs_wide count, uint32_t type, bool stays, const char *what)
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
    if (c->failed || !stays)
        return c->failed ? 0 : handles;
    void *copy = lgs_object(c, address, LGS_OF_HANDLES | type, size, what);
    return copy ? memcpy(copy, handles, size) : 0;
}

/* A place in the library's memory, for the program to pass on: nothing is found there. */
static void *lgs_place(struct lgs_call *c, uint64_t address, const char *what)
{
    uint32_t offset;
    if (c->failed || !address || !lgs_offset(c, address, 1, &offset, what))
        return 0;
    return lgs.places + offset;
}
