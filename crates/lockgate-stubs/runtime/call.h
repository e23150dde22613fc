/* ---- calls ------------------------------------------------------------------------------------------------------------ */

/* The first call, or any of a domain that restarts or that could not be made. */
static __attribute__((noinline, cold)) void lgs_come(struct lgs_call *c)
{
    /* (A thread that is cancelled while it makes a domain, or ends one, would leave half of it, and locks.) */
    int cancels, before = errno;
    /* A domain's constructors may call the program, and that the library, which is not there yet: this thread would wait for itself. */
    if (lgs_thread.starts) {
        lgs_fail(c, LG_STUB_START, "call", "its domain is being made: what that calls may not call it");
        return;
    }
    lgs_thread.starts = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    lgs_calls_in(&(struct lgs_call){.handle = 0});
    pthread_once(&lgs_once, lgs_start);
    lgs_notice_child();
    if (LGS_RESTARTS) {
        lgs_pop_left(c);
        lgs_come_in(c);
    }
    pthread_setcancelstate(cancels, 0);
    lgs_thread.starts = false;
    if (lgs_start_failed)
        lgs_fail(c, LG_STUB_START, lgs_start_failed, "the domain could not be made");
    else
        __atomic_store_n(&lgs_process->settled, !LGS_RESTARTS, __ATOMIC_RELEASE);
    /* (What making a domain has left there is no answer of the library's.) */
    if (!lgs_start_failed)
        errno = before;
}

static inline __attribute__((always_inline)) void lgs_begin(struct lgs_call *c, unsigned number)
{
    *c = (struct lgs_call){.function = lgs_functions[number].name, .frame = LGS_FRAME};
    /* (A jump is its call's own, however that ended.) */
    if (LGS_JUMPS)
        lgs_thread.jump = 0;
    if (__builtin_expect(!__atomic_load_n(&lgs_process->settled, __ATOMIC_ACQUIRE), 0)) {
        lgs_come(c);
        if (c->failed)
            return;
        lgs_mark(c);
    }
}

/* The call did not return. */
static void lgs_fault(struct lgs_call *c)
{
    lgs_fail(c, LG_STUB_FAULT, "call", lg_last_message());
    if (LGS_RESTARTS && c->generation == lgs.generation)
        __atomic_store_n(&lgs.broken, true, __ATOMIC_RELEASE);
}

/* All that an error says: of a fault of the library's the report, of which the error has the beginning. The client's own reasons have none, and what
 * `lg_last_message()` has is another call's then. */
static const char *lgs_report(const struct lg_stub_error *error)
{
    char said[sizeof error->message];
    const char *report = lg_last_message();
    if (error->kind != LG_STUB_FAULT)
        return error->message;
    snprintf(said, sizeof said, "%s: %s: %s: %s", lgs_name, error->function, error->what, report);
    return strcmp(said, error->message) ? error->message : report;
}

/* Whether the call returned, and no callback on the way was refused. */
static inline bool lgs_returned(struct lgs_call *c)
{
    if (__builtin_expect(lg_failed(), 0)) {
        lg_status status = lg_take_call_error();
        if (status != LG_OK) { /* else it was a call of a signal handler's that failed */
            if (status == LG_E_CALLBACK && lgs_thread.failed)
                c->failed = true;
            else
                lgs_fault(c);
            lgs_thread.failed = false;
            return false;
        }
    }
    lgs_copies_begin();
    return true;
}

/* Whether a call that needs nothing but the domain can be made at once: nothing to begin, nothing to finish. */
static inline bool lgs_is_ready(void)
{
    return __builtin_expect(__atomic_load_n(&lgs_process->settled, __ATOMIC_ACQUIRE), 1) && !lgs_has_lent() && !lgs_has_stuck();
}

/* Whether such a call did not return, if lg_failed(). */
static __attribute__((noinline, cold)) bool lgs_lost(unsigned number)
{
    struct lgs_call c = {.function = lgs_functions[number].name};
    return !lgs_returned(&c);
}

static inline __attribute__((always_inline)) void lgs_finish(struct lgs_call *c)
{
    lgs_unmark(c);
    if (__builtin_expect(c->without && !c->failed, 0))
        lgs_thread.no_handle = false;
    if (LGS_RESTARTS && c->inside)
        lgs_go_out(c);
}

/* The same for bindings, until they have taken it: 0 if the call's result does not say that it has failed. */
static __thread int lgs_number;

/* A floating-point result that says so, which may be no number. */
static inline bool lgs_is_failure(double result, double failure)
{
    return result == failure || (result != result && failure != failure);
}

/* Where the library has its errno. What it calls meanwhile is none of the call's, nor of the one before. */
static uint64_t lgs_errno_at(const struct lgs_call *c)
{
    lgs_calls_in(&(struct lgs_call){.silent = c->silent});
    return lgs.errno_location();
}

/* Nothing is wrong yet: what earlier calls have left there is no answer of this one's. */
static bool lgs_no_errno(struct lgs_call *c)
{
    int none = 0;
    uint64_t at = lgs_errno_at(c);
    if (!lgs_returned(c))
        return false;
    if (!lgs_write(at, &none, sizeof none))
        lgs_fail(c, LG_STUB_POINTER, "errno", "the library has none where it says");
    return !c->failed;
}

/* The library's errno, for functions that say by it what is wrong. It is C that compares the result with the API's failure, for all bindings: that is an
 * expression of C. */
static void lgs_errno(struct lgs_call *c, bool has_failed)
{
    int number = 0;
    uint64_t at = lgs_errno_at(c);
    lgs_number = 0;
    if (!lgs_returned(c) || !lgs_read(&number, at, sizeof number) || number <= 0 || number >= 4096)
        return;
    errno = number;
    lgs_number = has_failed ? number : 0;
}

/* The strings that printf would read are the program's own, where it shares memory with the library: each would be looked at more than once. */
static __attribute__((noinline, cold)) void lgs_private_strings(struct lgs_call *c, const char *format, va_list list)
{
    va_list arguments;
    lgs_private(c, format, 1, "format");
    va_copy(arguments, list);
    for (const char *at = format; at && *at && !c->failed; at++) {
        if (*at != '%')
            continue;
        bool wide = false;
        for (at++; *at && strchr("-+ #0'I.*123456789hlqjztL", *at); at++) {
            wide |= *at == 'L';
            if (*at == '*')
                (void)va_arg(arguments, int);
        }
        if (*at == 's')
            lgs_private(c, va_arg(arguments, const char *), 1, "format");
        else if (*at && strchr("diouxXcpn", *at))
            (void)va_arg(arguments, uint64_t);
        else if (*at && strchr("eEfFgGaA", *at) && wide)
            (void)va_arg(arguments, long double);
        else if (*at && strchr("eEfFgGaA", *at))
            (void)va_arg(arguments, double);
        else if (!*at || !strchr("%m", *at))
            lgs_fail(c, LG_STUB_SIZE, "format", "it has a conversion that cannot be checked while memory is shared");
        if (!*at)
            break;
    }
    va_end(arguments);
}

/* The text that printf would print, inside. */
static uint64_t lgs_print(struct lgs_call *c, const char *format, va_list list)
{
    if (__builtin_expect(lgs.shared_count != 0, 0))
        lgs_private_strings(c, format, list);
    if (c->failed)
        return 0;
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(0, 0, format, again);
    va_end(again);
    struct lgs_block block = lgs_room(c, 0, length < 0 ? 0 : (size_t)length + 1);
    char *text = length < 0 ? 0 : lgs_own(c, (size_t)length + 1, "format");
    if (text && !c->failed) {
        vsnprintf(text, (size_t)length + 1, format, list);
        lgs_put(block.here, text, (size_t)length + 1);
    } else
        lgs_fail(c, LG_STUB_SIZE, "format", "it cannot be printed");
    return block.inside;
}

static inline lgs_wide lgs_strlen(const char *text)
{
    return text ? (lgs_wide)strlen(text) : 0;
}

/* Room for a pointer that the library sets. */
static struct lgs_block lgs_variable(struct lgs_call *c, const void *host, uint64_t value)
{
    struct lgs_block block = lgs_block(c, host, 8, 0);
    if (block.here)
        lgs_put(block.here, &value, 8);
    return block;
}

/* The library has set a pointer to what the program expects there. */
static inline bool lgs_is_set(struct lgs_call *c, const void *host, uint64_t address, int flags, const char *what)
{
    if (!c->failed && !address && host)
        lgs_null(c, flags, what);
    return !c->failed && address;
}

/* Room for a structure, zeros. */
static struct lgs_block lgs_fresh(struct lgs_call *c, const void *host, size_t size)
{
    struct lgs_block block = lgs_block(c, host, size, 0);
    if (block.here)
        lgs_clear(block.here, size);
    return block;
}

/* The pointer that the library has left there. */
static inline uint64_t lgs_pointer(const struct lgs_block *block)
{
    uint64_t pointer = 0;
    if (block->here)
        lgs_fetch(&pointer, block->here, sizeof pointer);
    return pointer;
}

/* How far the library has moved a pointer on within its buffer. */
static size_t lgs_moved(struct lgs_call *c, uint64_t now, const struct lgs_block *block, const char *what)
{
    uint64_t moved = now - block->inside;
    if (moved > block->size) {
        lgs_fail(c, LG_STUB_POINTER, what, "the library moved the pointer out of the buffer");
        return 0;
    }
    return moved;
}

/* A function without a stub was called. */
static void lgs_failing_stub(const char *function, const char *reason)
{
    lgs_fail(&(struct lgs_call){.function = function}, LG_STUB_OMITTED, "call", reason);
}
