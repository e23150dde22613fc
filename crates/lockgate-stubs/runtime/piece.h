/* ---- memory of the library's that is the program's -----------------------------------------------------------------------------
 *
 * What the program owns until it gives it back (LG_FREED), or fills (LG_LENT), is a piece of the program's heap: no answer of the library's is ever
 * copied there, whatever its address, so that the program may keep there what it likes, pointers that it follows among it. */
/* (<search.h> has names of its own that programs have, too.) */
extern void *tsearch(const void *, void **, int (*)(const void *, const void *));
extern void *tfind(const void *, void *const *, int (*)(const void *, const void *));
extern void *tdelete(const void *, void **, int (*)(const void *, const void *));

struct lgs_piece {
    const char *host;
    size_t size;
    uint64_t inside;
    unsigned generation; /* of the domain that it came from */
    bool lent;           /* it is a handle's: nothing that the program gives back ends it */
    bool held;           /* by the call that gives it, and then by the thread that has it from there: others may end it meanwhile */
    bool gone;           /* it is none any more, */
    bool ended;          /* and its memory goes when it is not held any more */
    struct lgs_piece *next; /* that the thread has */
};

/* Pieces lie apart: those that overlap are one. */
static int lgs_piece_order(const void *one, const void *other)
{
    const struct lgs_piece *a = one, *b = other;
    if ((uintptr_t)a->host + a->size <= (uintptr_t)b->host)
        return -1;
    return (uintptr_t)b->host + b->size <= (uintptr_t)a->host;
}

/* One of those that overlap `size` bytes at `host`, or null. The lock is held, here and in what follows. */
static struct lgs_piece *lgs_piece_at(const void *host, size_t size)
{
    struct lgs_piece at = {.host = host, .size = size}, **found = lgs.pieces ? tfind(&at, &lgs.pieces, lgs_piece_order) : 0;
    return found ? *found : 0;
}

static void lgs_piece_free(struct lgs_piece *piece)
{
    if (piece->ended)
        free((void *)(uintptr_t)piece->host);
    free(piece);
}

/* It is none any more. `ended`: nor is there anything at its place. */
static void lgs_piece_forget(struct lgs_piece *piece, bool ended)
{
    tdelete(piece, &lgs.pieces, lgs_piece_order);
    piece->gone = true;
    piece->ended = ended;
    if (!piece->held)
        lgs_piece_free(piece);
}

/* The thread lets go of what it has from earlier calls. */
static void lgs_pieces_left(void)
{
    if (!lgs_thread.gave)
        return;
    pthread_mutex_lock(&lgs.lock);
    for (struct lgs_piece *piece = lgs_thread.gave, *next; piece; piece = next) {
        next = piece->next;
        piece->held = false;
        if (piece->gone)
            lgs_piece_free(piece);
    }
    lgs_thread.gave = 0;
    pthread_mutex_unlock(&lgs.lock);
}

/* Of what stands for an address: what that has, from that of any type to a page. */
static size_t lgs_alignment(uint64_t inside)
{
    size_t alignment = inside & -inside;
    return alignment > 4096 ? 4096 : alignment < LGS_ALIGNMENT ? LGS_ALIGNMENT : alignment;
}

/* Host memory, zeros, as aligned as what it stands for. It is the library that says how much: no more than it may have itself, and zeros that are written
 * count as copies do. */
static void *lgs_piece_room(size_t size, uint64_t inside)
{
    size_t alignment = lgs_alignment(inside);
    void *at = 0;
    if (size > lgs.memory_limit)
        return 0;
    if (alignment == LGS_ALIGNMENT)
        return calloc(1, size ? size : 1); /* untouched, if it is large */
    if (posix_memalign(&at, alignment, size ? size : 1) != 0)
        return 0;
    char *host = at;
    for (size_t done = 0, piece; done < size; done += piece) {
        piece = size - done < LGS_PAUSE ? size - done : LGS_PAUSE;
        if (!lgs_may_copy(piece)) {
            free(host);
            return 0;
        }
        memset(host + done, 0, piece);
    }
    return host;
}

/* The library's memory at `inside` is the program's, as the piece at `host`. */
static struct lgs_piece *lgs_piece_new(const void *host, size_t size, uint64_t inside)
{
    struct lgs_piece *piece = malloc(sizeof *piece), *old;
    if (!piece)
        return 0;
    *piece = (struct lgs_piece){.host = host, .size = size ? size : 1, .inside = inside, .generation = lgs.generation};
    /* (What is there by now was given to free() itself.) */
    while ((old = lgs_piece_at(host, piece->size)))
        lgs_piece_forget(old, false);
    if (tsearch(piece, &lgs.pieces, lgs_piece_order))
        return piece;
    free(piece);
    return 0;
}

/* The program has given it back. Where another thread has it from a call that may have returned just now, and is to copy what is there (an address that one thread
 * has from long ago is another's new piece), its memory stays until that has done so. */
static void lgs_piece_end(const void *host)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_piece *piece = host ? lgs_piece_at(host, 1) : 0;
    if (piece && piece->host == host && !piece->lent) {
        struct lgs_piece **own = &lgs_thread.gave;
        while (*own && *own != piece)
            own = &(*own)->next;
        if (*own) {
            *own = piece->next;
            piece->held = false;
        }
        lgs_piece_forget(piece, true);
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* Bytes of the client's that are behind `host`, which the library has given out, as long as the lock is held. */
static size_t lgs_behind_now(const void *host)
{
    uintptr_t at = (uintptr_t)host;
    size_t behind = 0;
    const struct lgs_piece *piece = lgs_piece_at(host, 1);
    if (piece)
        behind = piece->size - (at - (uintptr_t)piece->host);
    else if (at - (uintptr_t)lgs.places < LGS_WINDOW)
        behind = LGS_WINDOW - (at - (uintptr_t)lgs.places);
    for (const struct lgs_mirror *mirror = lgs.mirrors; mirror && !behind; mirror = mirror->next)
        if (at - (uintptr_t)mirror->at < LGS_WINDOW)
            behind = 2 * LGS_WINDOW - (at - (uintptr_t)mirror->at);
    return behind;
}

static size_t lgs_behind(const void *host)
{
    pthread_mutex_lock(&lgs.lock);
    size_t behind = lgs_behind_now(host);
    pthread_mutex_unlock(&lgs.lock);
    return behind;
}
