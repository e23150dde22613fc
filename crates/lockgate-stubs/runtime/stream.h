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

/* The lock is held. */
static struct lgs_open *lgs_stream_of(uint64_t cookie)
{
    struct lgs_open *open = lgs.streams;
    while (open && open->cookie != cookie)
        open = open->next;
    return open;
}

/* The program's stream behind the library's: one that was given to a call which is in progress on this thread, or which it keeps for a handle of such a call. */
static inline __attribute__((always_inline)) FILE *lgs_stream_enter(struct lgs_call *c, uint64_t cookie, struct lgs_open **of)
{
    lgs_called_by(c, "FILE");
    FILE *file = 0;
    uint64_t handle = 0;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_open *open = *of = lgs_stream_of(cookie);
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
        struct lgs_open *open = lgs_stream_of(cookie);
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
    struct lgs_open *open;
    FILE *file = lgs_stream_enter(&c, cookie, &open);
    bool ends = file && open->ends;
    if (ends)
        open->ends = false;
    else if (file && open->told && feof(file) && !ferror(file))
        clearerr(file); /* (The library's libc reads on only if it has cleared its own.) */
    char *copy = size && !ends ? lgs_memory(&c, buffer, size, 0, "buffer") : 0;
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
    bool fails = file && size && !got && !ends && !feof(file);
    if (file) {
        open->read += got;
        open->told |= size && !got;
    }
    lgs_stream_leave(&c, cookie);
    return fails ? -1 : (int64_t)got;
}

static int64_t lgs_stream_write(uint64_t cookie, uint64_t buffer, uint64_t size)
{
    struct lgs_call c;
    struct lgs_open *open;
    FILE *file = lgs_stream_enter(&c, cookie, &open);
    /* (A libc that has nothing to write says so with a null pointer.) */
    const char *copy = size ? lgs_memory(&c, buffer, size, LGS_READS, "buffer") : 0;
    size_t put = copy ? fwrite(copy, 1, size, file) : 0;
    if (file)
        open->told |= put != size;
    lgs_stream_leave(&c, cookie);
    /* (To the library's libc a short count is no error, only a number below 0 is.) */
    return put == size ? (int64_t)put : -1;
}

static int lgs_stream_seek(uint64_t cookie, uint64_t offset, int whence)
{
    struct lgs_call c;
    struct lgs_open *open;
    FILE *file = lgs_stream_enter(&c, cookie, &open);
    int64_t to = 0;
    int result = -1;
    if (file && lgs_read(&to, offset, sizeof to) && (whence == SEEK_SET || whence == SEEK_CUR || whence == SEEK_END)) {
        /* (ftell() of the library's asks so, too, and at the end of the file leaves the indicator.) */
        result = whence == SEEK_CUR && !to && feof(file) ? 0 : fseeko(file, to, whence);
        to = ftello(file);
        if (!lgs_write(offset, &to, sizeof to))
            lgs_fail(&c, LG_STUB_POINTER, "offset", "the library gave a number that it does not have");
    }
    lgs_stream_leave(&c, cookie);
    return result;
}

/* The program would go on with a stream that is no more: so it is not closed, and the call fails. What leads nowhere is the client's own to close. */
static int lgs_stream_close(uint64_t cookie)
{
    struct lgs_call c;
    lgs_called_by(&c, "FILE");
    pthread_mutex_lock(&lgs.lock);
    bool open = lgs_stream_of(cookie);
    pthread_mutex_unlock(&lgs.lock);
    if (open)
        lgs_fail(&c, LG_STUB_DATA, "stream", "the library closed the program's stream, which only the program can do");
    lgs_stream_leave(&c, cookie);
    return 0;
}

/* The structure of four functions that it takes is passed on the stack: as are four pointers, behind six other arguments. */
typedef uint64_t (*lgs_fopencookie)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef int (*lgs_setvbuf)(uint64_t, uint64_t, int, size_t);
typedef void (*lgs_on_stream)(uint64_t);
typedef int (*lgs_of_stream)(uint64_t);
typedef size_t (*lgs_freadahead)(uint64_t);

/* The functions of the library's libc, and those that its streams call. Made at the first use; the lock is held. */
static struct {
    lgs_fopencookie open;
    lgs_setvbuf unbuffer;
    lgs_on_stream clear, spoil;
    lgs_of_stream get, flush, end, ends, fails;
    lgs_freadahead ahead;
    uint64_t read, write, seek, close;
} lgs_stdio;

static uint64_t lgs_stream_function(const char *prototype, lg_code function)
{
    return (uint64_t)(uintptr_t)lg_callback_pointer(lg_callback_new(lgs.domain, prototype, function, 0));
}

static lg_code lgs_stream_bind(const char *prototype)
{
    return (lg_code)lg_function_pointer(lg_bind(lgs.domain, prototype, LG_DEFAULT));
}

static bool lgs_stream_start(void)
{
    const char *open = "void *fopencookie(void *, void *, uint64_t, uint64_t, uint64_t, uint64_t, void *, void *, void *, void *)";
    const char *unbuffer = "int setvbuf(void *, void *, int, size_t)";
    if (lgs_stdio.close)
        return true;
    lgs_stdio.open = (lgs_fopencookie)lgs_stream_bind(open);
    lgs_stdio.unbuffer = (lgs_setvbuf)lgs_stream_bind(unbuffer);
    lgs_stdio.clear = (lgs_on_stream)lgs_stream_bind("void clearerr(void *)");
    lgs_stdio.spoil = (lgs_on_stream)lgs_stream_bind("void __fseterr(void *)");
    lgs_stdio.get = (lgs_of_stream)lgs_stream_bind("int fgetc(void *)");
    lgs_stdio.flush = (lgs_of_stream)lgs_stream_bind("int fflush(void *)");
    lgs_stdio.end = (lgs_of_stream)lgs_stream_bind("int fclose(void *)");
    lgs_stdio.ends = (lgs_of_stream)lgs_stream_bind("int feof(void *)");
    lgs_stdio.fails = (lgs_of_stream)lgs_stream_bind("int ferror(void *)");
    lgs_stdio.ahead = (lgs_freadahead)lgs_stream_bind("uint64_t __freadahead(void *)");
    lgs_stdio.read = lgs_stream_function("int64_t read(void *, void *, uint64_t)", (lg_code)lgs_stream_read);
    lgs_stdio.write = lgs_stream_function("int64_t write(void *, void *, uint64_t)", (lg_code)lgs_stream_write);
    lgs_stdio.seek = lgs_stream_function("int seek(void *, void *, int)", (lg_code)lgs_stream_seek);
    lgs_stdio.close = lgs_stream_function("int close(void *)", (lg_code)lgs_stream_close);
    return lgs_stdio.open && lgs_stdio.unbuffer && lgs_stdio.clear && lgs_stdio.spoil && lgs_stdio.get && lgs_stdio.flush && lgs_stdio.end && lgs_stdio.ends &&
           lgs_stdio.fails && lgs_stdio.ahead && lgs_stdio.read && lgs_stdio.write && lgs_stdio.seek && lgs_stdio.close;
}

/* One of the library's streams, for `file`: one that leads there already, one that leads nowhere, or a new one. In the library each file begins with a stream of its own: `old` is one
 * that leads nowhere any more. The lock is held. */
static struct lgs_open *lgs_stream_for(FILE *file, uint64_t handle, bool kept, uint64_t *old)
{
    static uint64_t cookies;
    struct lgs_open *free = 0, *same = 0;
    for (struct lgs_open *open = lgs.streams; open && !same; open = open->next) {
        bool used = open->calls || open->kept;
        if (!used && !open->stuck && !(free && free->file == file))
            free = open;
        /* (Without `inside`, another thread is about to make it.) */
        if (used && !open->stuck && open->inside && open->file == file && open->handle == handle)
            same = open;
    }
    /* (What is given instead of one that was left.) */
    for (struct lgs_open *open = lgs.streams; open && kept; open = open->next)
        if (open->stuck && open->handle == handle)
            open->kept = false;
    struct lgs_open *open = same ? same : free;
    if (!open && (open = calloc(1, sizeof *open))) {
        open->next = lgs.streams;
        lgs.streams = open;
    }
    if (!open)
        return 0;
    if (!same) {
        *old = open->inside;
        open->inside = 0;
        open->cookie = ++cookies;
        open->read = 0;
        open->ends = open->told = false;
    }
    open->file = file;
    open->handle = handle;
    open->kept |= kept;
    open->calls++;
    return open;
}

/* So much does the library's libc push back at most beyond what it has read. */
#define LGS_UNGET 8

/* The library's stream has nothing left of what it has read and not used: `file`, if any, has it again. */
static void lgs_stream_give_back(struct lgs_call *c, struct lgs_open *open, uint64_t inside, FILE *file)
{
    size_t ahead = lgs_stdio.ahead(inside);
    if (!lgs_returned(c) || !ahead)
        return;
    if (ahead > LGS_PIECE + LGS_UNGET || (file && ahead > open->read + LGS_UNGET)) {
        lgs_fail(c, LG_STUB_LENGTH, "stream", "the library says that it has read more than it has");
        return;
    }
    unsigned char *back = lgs_own(c, ahead, "stream");
    for (size_t i = 0; back && i < ahead && !c->failed; i++) {
        back[i] = (unsigned char)lgs_stdio.get(inside);
        if (!lgs_returned(c))
            return;
    }
    for (size_t i = ahead; back && file && i-- && !c->failed;)
        if (ungetc(back[i], file) == EOF)
            lgs_fail(c, LG_STUB_DATA, "stream", "the program's stream does not take back what the library has read and not used");
}

/* The program goes on with its stream: it has what the library has pushed back or read ahead, and what that has written; what the library has cleared is. */
static void lgs_stream_out(struct lgs_call *c, struct lgs_open *open)
{
    FILE *file = open->file;
    lgs_stream_give_back(c, open, open->inside, file);
    open->read = 0;
    if (c->failed)
        return;
    lgs_stdio.flush(open->inside);
    if (!lgs_returned(c) || !open->told || !(feof(file) || ferror(file)))
        return;
    bool set = lgs_stdio.ends(open->inside) | lgs_stdio.fails(open->inside);
    if (lgs_returned(c) && !set)
        clearerr(file);
}

/* The library goes on with it: its stream has the indicators of the program's. (Only a read that finds the end sets that one.) */
static void lgs_stream_in(struct lgs_call *c, struct lgs_open *open)
{
    bool fails = ferror(open->file);
    lgs_stdio.clear(open->inside);
    open->ends = feof(open->file);
    open->told = open->ends || fails;
    if (open->ends)
        lgs_stdio.get(open->inside);
    if (fails)
        lgs_stdio.spoil(open->inside);
    lgs_returned(c);
}

/* For all that the call was given. (One that another thread's call was ended in has its lock held for good.) */
static void lgs_streams_each(struct lgs_call *c, void (*each)(struct lgs_call *, struct lgs_open *))
{
    for (unsigned i = lgs_thread.depth; c->serial && i--;)
        if (lgs_thread.marks[i].serial == c->serial)
            for (const union lgs_head *owned = lgs_thread.marks[i].owned; owned && !c->failed; owned = owned->next)
                if (owned->stream && owned->stream->inside && !__atomic_load_n(&owned->stream->stuck, __ATOMIC_RELAXED))
                    each(c, owned->stream);
}

static void lgs_streams_out(struct lgs_call *c)
{
    lgs_streams_each(c, lgs_stream_out);
}

static void lgs_streams_in(struct lgs_call *c)
{
    /* (What the program called meanwhile was another call.) */
    lgs_calls_in(c);
    lgs_streams_each(c, lgs_stream_in);
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
    uint64_t old = 0;
    pthread_mutex_lock(&lgs.lock);
    bool ready = lgs_stream_start();
    struct lgs_open *open = ready ? lgs_stream_for(file, c->makes ? 0 : kept ? lgs_giver(c->handle) : c->handle, kept && !c->makes, &old) : 0;
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
    if (old && !c->failed) {
        lgs_stream_give_back(c, open, old, 0);
        lgs_stdio.end(old);
        lgs_returned(c);
    }
    if (open && !open->inside && !c->failed) {
        uint64_t inside = lgs_stdio.open(open->cookie, mode, 0, 0, 0, 0, lgs_stdio.read, lgs_stdio.write, lgs_stdio.seek, lgs_stdio.close);
        if (lgs_returned(c) && inside) {
            lgs_stdio.unbuffer(inside, 0, _IONBF, 0);
            pthread_mutex_lock(&lgs.lock);
            open->inside = inside;
            pthread_mutex_unlock(&lgs.lock);
        }
    }
    if (open && open->inside && !c->failed)
        lgs_stream_in(c, open);
    if (!open || !open->inside || !lgs_returned(c)) {
        lgs_fail(c, LG_STUB_MEMORY, what, "the library can have no more streams");
        return 0;
    }
    return open->inside;
}
#endif
