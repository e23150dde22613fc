/* ---- for bindings of languages that may run anything between two steps: signal handlers, finalisers ------------------------------ */

/* What a call leaves for its second half. */
struct lg_stub_call {
    struct lg_stub_error error; /* LG_STUB_NONE if there is none */
    char *report;               /* of a fault, for free() */
    size_t given;               /* bytes of the memory that its result leads to */
    int number;                 /* the library's errno, if the result says that the call has failed; else 0 */
};

/* What one call has left with its thread, while another is made. */
struct lg_stub_aside {
    struct lg_stub_error error;
    size_t given;
    int number;
    const void *filling;
    size_t fills;
    char *mirror; /* which the other may not write to */
    unsigned depth;
    bool is_set;
};

/* Mirrors of calls within calls, by depth; what is deeper has one of its own each time. And what calls further out gave, which is still to be copied. */
#define LGS_ASIDES 8
static __thread struct {
    char *mirrors[LGS_ASIDES];
    struct lgs_piece *gave[LGS_ASIDES];
    unsigned depth;
} lgs_asides;

/* What the next call fills lent memory with; null: nothing, the program does that itself. */
static void lgs_binding_fill(const void *contents, size_t size)
{
    lgs_thread.filling = contents;
    lgs_thread.fills = size;
}

/* The first half is over: nothing of it stays with the thread. */
static void lgs_binding_take(struct lg_stub_call *call)
{
    call->error = lgs_thread.error;
    call->given = lgs_thread.given;
    call->number = lgs_number;
    call->report = call->error.kind == LG_STUB_FAULT ? strdup(lgs_report(&call->error)) : 0;
    lgs_thread.error.kind = LG_STUB_NONE;
    lgs_thread.filling = 0;
    lgs_number = 0;
}

/* A call begins within another one, wherever that is. */
static void lgs_binding_aside(struct lg_stub_aside *aside)
{
    *aside = (struct lg_stub_aside){lgs_thread.error,   lgs_thread.given,  lgs_number,       lgs_thread.filling,
                                    lgs_thread.fills,   lgs_thread.mirror, lgs_asides.depth, true};
    lgs_thread.filling = 0;
    lgs_thread.error.kind = LG_STUB_NONE;
    lgs_number = 0;
    if (lgs_asides.depth < LGS_ASIDES) {
        lgs_asides.gave[lgs_asides.depth] = lgs_thread.gave;
        lgs_thread.gave = 0;
    }
    unsigned depth = ++lgs_asides.depth;
    lgs_thread.mirror = depth < LGS_ASIDES ? lgs_asides.mirrors[depth] : 0;
}

/* It is over, or has never begun. */
static void lgs_binding_back(struct lg_stub_aside *aside)
{
    if (!aside->is_set)
        return;
    aside->is_set = false;
    if (aside->depth + 1 < LGS_ASIDES)
        lgs_asides.mirrors[aside->depth + 1] = lgs_thread.mirror;
    else if (lgs_thread.mirror)
        lgs_mirror_free();
    lgs_asides.depth = aside->depth;
    if (aside->depth < LGS_ASIDES) {
        lgs_pieces_left();
        lgs_thread.gave = lgs_asides.gave[aside->depth];
        lgs_asides.gave[aside->depth] = 0;
    }
    lgs_thread.error = aside->error;
    lgs_thread.given = aside->given;
    lgs_number = aside->number;
    lgs_thread.filling = aside->filling;
    lgs_thread.fills = aside->fills;
    lgs_thread.mirror = aside->mirror;
}

/* They are the parent's. */
static void lgs_asides_forget(void)
{
    memset(lgs_asides.mirrors, 0, sizeof lgs_asides.mirrors);
    memset(lgs_asides.gave, 0, sizeof lgs_asides.gave);
}

/* The thread ends. */
static void lgs_asides_free(void)
{
    for (unsigned depth = 0; depth < LGS_ASIDES; depth++)
        if ((lgs_thread.mirror = lgs_asides.mirrors[depth]))
            lgs_mirror_free();
    lgs_thread.mirror = 0;
}
