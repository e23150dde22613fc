/* ---- FILE: the library's stream, without a buffer, reads and writes the program's ------------------------------------------------- */
#if LGS_STREAMS

static const struct lgs_callback lgs_stream_mark;

static FILE *lgs_stream_enter(struct lgs_call *c, uint64_t cookie)
{
    *c = (struct lgs_call){.function = "FILE"};
    lgs_mark(c);
    FILE *file = lgs_data_out(c, &lgs_stream_mark, cookie, "stream");
    if (!file)
        lgs_fail(c, LG_STUB_DATA, "stream", "the library passed a null pointer");
    return file;
}

static int64_t lgs_stream_read(uint64_t cookie, uint64_t buffer, uint64_t size)
{
    struct lgs_call c;
    FILE *file = lgs_stream_enter(&c, cookie);
    char *copy = lgs_memory(&c, buffer, size, 0, "buffer");
    size_t got = copy ? fread(copy, 1, size, file) : 0;
    lgs_memory_back(&c, buffer, got, "buffer");
    lgs_leave(&c);
    return got || !size || !file || !ferror(file) ? (int64_t)got : -1;
}

static int64_t lgs_stream_write(uint64_t cookie, uint64_t buffer, uint64_t size)
{
    struct lgs_call c;
    FILE *file = lgs_stream_enter(&c, cookie);
    const char *copy = lgs_memory(&c, buffer, size, LGS_READS, "buffer");
    size_t put = copy ? fwrite(copy, 1, size, file) : 0;
    lgs_leave(&c);
    return (int64_t)put;
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
    lgs_leave(&c);
    return result;
}

/* Marks what was given as a stream. */
static const struct lgs_callback lgs_stream_mark = {.function = (lg_code)lgs_stream_read, .bound = true};

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

/* The library's stream for the program's: the same for the same. */
static uint64_t lgs_stream(struct lgs_call *c, FILE *file, const char *what)
{
    static struct lgs_open {
        FILE *file;
        uint64_t inside;
        struct lgs_open *next;
    } *streams;
    if (c->failed || !file)
        return 0;
    uint64_t cookie = lgs_data(c, file, lgs_stream_mark.function, what);
    uint64_t mode = lgs_string(c, "r+");
    uint64_t inside = 0;
    pthread_mutex_lock(&lgs.lock);
    bool ready = lgs_stream_start();
    for (struct lgs_open *open = streams; open; open = open->next)
        if (open->file == file)
            inside = open->inside;
    pthread_mutex_unlock(&lgs.lock);
    if (ready && !inside && !c->failed) {
        inside = lgs_stdio.open(cookie, mode, 0, 0, 0, 0, lgs_stdio.read, lgs_stdio.write, lgs_stdio.seek, 0);
        struct lgs_open *open = lgs_returned(c) && inside ? malloc(sizeof *open) : 0;
        if (open) {
            lgs_stdio.unbuffer(inside, 0, _IONBF, 0);
            *open = (struct lgs_open){file, inside, 0};
            pthread_mutex_lock(&lgs.lock);
            open->next = streams;
            streams = open;
            pthread_mutex_unlock(&lgs.lock);
        }
    }
    /* Its end was that of the file that was there before. */
    if (inside && !c->failed)
        lgs_stdio.clear(inside);
    if (!inside || !lgs_returned(c))
        lgs_fail(c, LG_STUB_MEMORY, what, "the library can have no more streams");
    return inside;
}
#endif
