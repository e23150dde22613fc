/* ---- FILE: the library's stream, without a buffer, reads and writes the program's ------------------------------------------------- */
#if LGS_STREAMS

/* The call was given it. */
static bool lgs_stream_is_here(const struct lgs_call *c, const struct lgs_open *open)
{
    for (unsigned i = lgs_thread.depth; c->serial && i--;)
        if (lgs_thread.marks[i].serial == c->serial)
            for (const union lgs_head *owned = lgs_thread.marks[i].owned; owned; owned = owned->next)
                if (owned->stream == open)
                    return true;
    return false;
}

static bool lgs_stream_is_kept(const struct lgs_open *open, const FILE *file, uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    bool kept = open->kept && open->file == file && open->handle == handle;
    pthread_mutex_unlock(&lgs.lock);
    return kept;
}

/* The program's stream behind the library's: one that was given to a call which is in progress on this thread, or which it keeps for a handle of such a call. */
static inline __attribute__((always_inline)) FILE *lgs_stream_enter(struct lgs_call *c, uint64_t cookie)
{
    lgs_called_by(c, "FILE");
    FILE *file = 0;
    uint64_t handle = 0;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_open *open = lgs.streams;
    while (open && open->cookie != cookie)
        open = open->next;
    if (open && open->calls && lgs_stream_is_here(c, open)) {
        file = open->file;
    } else if (open && open->kept) {
        file = open->file;
        handle = open->handle;
    }
    pthread_mutex_unlock(&lgs.lock);
    /* (Asked again: it may have ended before this thread said that it uses it.) */
    if (!file || (handle && handle != c->handle && !(lgs_is_near(c, handle, LGS_ITS_DATA) && lgs_stream_is_kept(open, file, handle)))) {
        lgs_fail(c, LG_STUB_DATA, "stream", "the library used a stream that it was not given for this call (LG_KEPT says that it remembers one)");
        return 0;
    }
    /* (The program's stream may have functions of its own, which leave by longjmp, or end the thread; and any may be cancelled.) */
    void *inside = c->failed ? 0 : lgs_own(c, 0, "stream");
    if (inside)
        LGS_HEAD(inside)->inside_of = open;
    return c->failed ? 0 : file;
}

static void lgs_stream_leave(struct lgs_call *c, uint64_t cookie)
{
    if (__builtin_expect(c->failed, 0)) {
        pthread_mutex_lock(&lgs.lock);
        struct lgs_open *open = lgs.streams;
        while (open && open->cookie != cookie)
            open = open->next;
        pthread_mutex_unlock(&lgs.lock);
        if (open)
            lgs_stream_stuck(open);
    }
    union lgs_head *owned = c->marked ? lgs_thread.marks[lgs_thread.depth - 1].owned : 0;
    for (; owned; owned = owned->next)
        owned->inside_of = 0;
    lgs_leave(c);
}

/* So much of a file is read at once. */
#define LGS_PIECE ((size_t)1 << 16)

static int64_t lgs_stream_read(uint64_t cookie, uint64_t buffer, uint64_t size)
{
    struct lgs_call c;
    FILE *file = lgs_stream_enter(&c, cookie);
    char *copy = size ? lgs_memory(&c, buffer, size, 0, "buffer") : 0;
    size_t got = 0;
    for (size_t piece = 0, wanted = 0; copy && !c.failed && got < size && piece == wanted; got += piece) {
        wanted = size - got < LGS_PIECE ? size - got : LGS_PIECE;
        /* What the library has no room for stays in the file. */
        if (lgs_read(copy + got, buffer + got, wanted))
            lgs_memory_back(&c, buffer + got, copy + got, wanted, "buffer");
        else
            lgs_unread(&c, LG_STUB_POINTER, "buffer", "the library gave a buffer that it does not have");
        piece = c.failed ? 0 : fread(copy + got, 1, wanted, file);
        lgs_memory_back(&c, buffer + got, copy + got, piece, "buffer");
    }
    lgs_stream_leave(&c, cookie);
    return got || !size || !file || !ferror(file) ? (int64_t)got : -1;
}

static int64_t lgs_stream_write(uint64_t cookie, uint64_t buffer, uint64_t size)
{
    struct lgs_call c;
    FILE *file = lgs_stream_enter(&c, cookie);
    /* (A libc that has nothing to write says so with a null pointer.) */
    const char *copy = size ? lgs_memory(&c, buffer, size, LGS_READS, "buffer") : 0;
    size_t put = copy ? fwrite(copy, 1, size, file) : 0;
    lgs_stream_leave(&c, cookie);
    /* (To the library's libc a short count is no error, only a number below 0 is.) */
    return put == size ? (int64_t)put : -1;
}

static int lgs_stream_seek(uint64_t cookie, uint64_t offset, int whence)
{
    struct lgs_call c;
    FILE *file = lgs_stream_enter(&c, cookie);
    int64_t to = 0;
    int result = -1;
    if (file && lgs_read(&to, offset, sizeof to) && (whence == SEEK_SET || whence == SEEK_CUR || whence == SEEK_END)) {
        result = fseeko(file, to, whence);
        to = ftello(file);
        if (!lgs_write(offset, &to, sizeof to))
            lgs_fail(&c, LG_STUB_POINTER, "offset", "the library gave a number that it does not have");
    }
    lgs_stream_leave(&c, cookie);
    return result;
}

/* The structure of four functions that it takes is passed on the stack: as are four pointers, behind six other arguments. */
typedef uint64_t (*lgs_fopencookie)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef int (*lgs_setvbuf)(uint64_t, uint64_t, int, size_t);
typedef void (*lgs_clearerr)(uint64_t);

/* The functions of the library's libc, and those that its streams call. Made at the first use; the lock is held. */
static struct {
    lgs_fopencookie open;
    lgs_setvbuf unbuffer;
    lgs_clearerr clear;
    uint64_t read, write, seek;
} lgs_stdio;

static uint64_t lgs_stream_function(const char *prototype, lg_code function)
{
    return (uint64_t)(uintptr_t)lg_callback_pointer(lg_callback_new(lgs.domain, prototype, function, 0));
}

static bool lgs_stream_start(void)
{
    const char *open = "void *fopencookie(void *, void *, uint64_t, uint64_t, uint64_t, uint64_t, void *, void *, void *, void *)";
    const char *unbuffer = "int setvbuf(void *, void *, int, size_t)";
    const char *clear = "void clearerr(void *)";
    if (lgs_stdio.seek)
        return true;
    lgs_stdio.open = (lgs_fopencookie)lg_function_pointer(lg_bind(lgs.domain, open, LG_DEFAULT));
    lgs_stdio.unbuffer = (lgs_setvbuf)lg_function_pointer(lg_bind(lgs.domain, unbuffer, LG_DEFAULT));
    lgs_stdio.clear = (lgs_clearerr)lg_function_pointer(lg_bind(lgs.domain, clear, LG_DEFAULT));
    lgs_stdio.read = lgs_stream_function("int64_t read(void *, void *, uint64_t)", (lg_code)lgs_stream_read);
    lgs_stdio.write = lgs_stream_function("int64_t write(void *, void *, uint64_t)", (lg_code)lgs_stream_write);
    lgs_stdio.seek = lgs_stream_function("int seek(void *, void *, int)", (lg_code)lgs_stream_seek);
    return lgs_stdio.open && lgs_stdio.unbuffer && lgs_stdio.clear && lgs_stdio.read && lgs_stdio.write && lgs_stdio.seek;
}

/* One of the library's streams, for `file`: one that leads there already, one that leads nowhere, or a new one. The lock is held. */
static struct lgs_open *lgs_stream_for(FILE *file, uint64_t handle, bool kept)
{
    static uint64_t cookies;
    struct lgs_open *free = 0, *same = 0;
    for (struct lgs_open *open = lgs.streams; open && !same; open = open->next) {
        bool used = open->calls || open->kept;
        if (!used && !open->stuck && !(free && free->file == file))
            free = open;
        if (used && !open->stuck && open->file == file && open->handle == handle)
            same = open;
    }
    /* (What is given instead of one that was left.) */
    for (struct lgs_open *open = lgs.streams; open && kept; open = open->next)
        if (open->stuck && open->handle == handle)
            open->kept = false;
    struct lgs_open *open = same ? same : free;
    if (!open && (open = calloc(1, sizeof *open))) {
        open->cookie = ++cookies;
        open->next = lgs.streams;
        lgs.streams = open;
    }
    if (!open)
        return 0;
    open->file = file;
    open->handle = handle;
    open->kept |= kept;
    open->calls++;
    return open;
}

/* A stream that is kept for the call's handle, or for one of its family, was left in the middle: the library would wait for its own lock on it. */
static __attribute__((noinline, cold)) void lgs_not_stuck(struct lgs_call *c)
{
    bool stuck = false;
    if (!c->marked)
        lgs_pop_left(c);
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = lgs_scope_of(c->handle);
    for (const struct lgs_open *open = lgs.streams; open && scope; open = open->next) {
        const struct lgs_scope *of = open->stuck && open->kept ? lgs_scope_of(open->handle) : 0;
        stuck |= of && (of == scope || (of->family && of->family == scope->family));
    }
    pthread_mutex_unlock(&lgs.lock);
    if (stuck)
        lgs_fail(c, LG_STUB_DATA, "stream", "a FILE that it keeps was left in the middle: give it another one, or release the handle");
}

/* The library's stream for the program's, until the call ends, or, if it is `kept`, as long as the handle lives that comes with it. */
static uint64_t lgs_stream(struct lgs_call *c, FILE *file, bool kept, const char *what)
{
    if (c->failed || !file)
        return 0;
    uint64_t mode = lgs_string(c, "r+");
    pthread_mutex_lock(&lgs.lock);
    bool ready = lgs_stream_start();
    struct lgs_open *open = ready ? lgs_stream_for(file, c->makes ? 0 : kept ? lgs_giver(c->handle) : c->handle, kept && !c->makes) : 0;
    pthread_mutex_unlock(&lgs.lock);
    void **ending = open ? lgs_own(c, 0, what) : 0;
    if (ending) {
        LGS_HEAD(ending)->stream = open;
        LGS_HEAD(ending)->keeps = kept && c->makes;
        lgs_thread.marks[lgs_thread.depth - 1].serial = lgs_serial(c);
        lgs_calls_in(c);
    } else {
        lgs_stream_end(open);
    }
    if (open && !open->inside && !c->failed) {
        uint64_t inside = lgs_stdio.open(open->cookie, mode, 0, 0, 0, 0, lgs_stdio.read, lgs_stdio.write, lgs_stdio.seek, 0);
        if (lgs_returned(c) && inside) {
            lgs_stdio.unbuffer(inside, 0, _IONBF, 0);
            open->inside = inside;
        }
    }
    /* Its end was that of the file that was there before. */
    if (open && open->inside && !c->failed)
        lgs_stdio.clear(open->inside);
    if (!open || !open->inside || !lgs_returned(c)) {
        lgs_fail(c, LG_STUB_MEMORY, what, "the library can have no more streams");
        return 0;
    }
    return open->inside;
}
#endif
