/* ---- what the program frees itself ------------------------------------------------------------------------------------------ */

/* A piece of the program's heap, in place of one of the library's. The program's own free() looks at what lies around it, which no library may write; and where a
 * function of the library's frees it, the program has it until then. */
struct lgs_heap {
    void *copy;
    size_t size;
    uint64_t inside;
    struct lgs_piece *piece; /* the library has it, too */
};

static bool lgs_returned(struct lgs_call *c);

/* `copy`, or, if it is the program that writes there (LGS_WRITES), zeros. */
static void lgs_to_heap(struct lgs_call *c, struct lgs_heap *heap, const void *copy, size_t size, uint64_t inside, int flags, const char *what)
{
    if (c->failed || !copy)
        return;
    lgs_pieces_left();
    *heap = (struct lgs_heap){lgs_piece_room(size, inside), size, inside, 0};
    if (heap->copy && !(flags & LGS_WRITES))
        memcpy(heap->copy, copy, size);
    if (!heap->copy)
        lgs_unread(c, LG_STUB_MEMORY, what, "no memory for what the program is to free, or it is more than the library may have");
}

/* The library's own is freed as soon as all checks have passed: the client will not ask for it. */
static void lgs_free_inside(struct lgs_call *c, const struct lgs_heap *heap)
{
    if (c->failed || !heap->copy)
        return;
    lgs_calls_in(c);
    lgs.free_inside(heap->inside);
    if (!lgs_returned(c))
        c->failed = true;
}

/* Or it is known until the program gives it back. */
static void lgs_own_piece(struct lgs_call *c, struct lgs_heap *heap, const char *what)
{
    if (c->failed || !heap->copy)
        return;
    lgs_watch();
    pthread_mutex_lock(&lgs.lock);
    heap->piece = lgs_piece_new(heap->copy, heap->size, heap->inside);
    if (heap->piece)
        heap->piece->held = true;
    pthread_mutex_unlock(&lgs.lock);
    if (!heap->piece)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory for what the program is to free");
}

/* The program has it now. */
static void *lgs_take(struct lgs_heap *heap)
{
    void *copy = heap->copy;
    heap->copy = 0;
    return copy;
}

/* It has not; or the thread holds it, until its next call that gives such a piece: till then a binding has copied it. */
static void lgs_heap_end(const struct lgs_heap *heap)
{
    struct lgs_piece *piece = heap->piece;
    if (!piece) {
        free(heap->copy);
        return;
    }
    pthread_mutex_lock(&lgs.lock);
    if (!heap->copy) {
        piece->next = lgs_thread.gave;
        lgs_thread.gave = piece;
    } else {
        piece->held = false;
        if (piece->gone)
            lgs_piece_free(piece);
        else
            lgs_piece_forget(piece, true);
    }
    pthread_mutex_unlock(&lgs.lock);
}
