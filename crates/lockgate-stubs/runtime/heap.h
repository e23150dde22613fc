/* ---- what the program frees itself ------------------------------------------------------------------------------------------ */

/* A piece of the program's heap, in place of one of the library's: its own free() looks at what lies around it, which no library may write. */
struct lgs_heap {
    void *copy;
    uint64_t inside;
};

static bool lgs_returned(struct lgs_call *c);

static void lgs_to_heap(struct lgs_call *c, struct lgs_heap *heap, const void *copy, size_t size, uint64_t inside, const char *what)
{
    if (c->failed || !copy)
        return;
    heap->inside = inside;
    heap->copy = malloc(size ? size : 1);
    if (heap->copy)
        memcpy(heap->copy, copy, size);
    else
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory for what the program is to free");
}

/* The library's own is freed as soon as all checks have passed: nobody will ask for it. */
static void lgs_free_inside(struct lgs_call *c, const struct lgs_heap *heap)
{
    if (c->failed || !heap->copy)
        return;
    lgs.free_inside(heap->inside);
    if (!lgs_returned(c))
        c->failed = true;
}

/* The program has it now. */
static void *lgs_take(struct lgs_heap *heap)
{
    void *copy = heap->copy;
    heap->copy = 0;
    return copy;
}
