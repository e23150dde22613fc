/* ---- what the program has heard, or said, of a handle: sizes of other calls build on it ---------------------------------------
 *
 * Each thread that calls the function has heard an answer of its own, and goes by that. One that has not called it got what others heard: which of it is not known,
 * so the least. The same holds where several functions tell one fact. */

/* Threads of which each has a place of its own; more share one, which only becomes less. */
#define LGS_HEARERS 16

/* The entry of a thread; 0: the one that is shared. */
static struct lgs_told *lgs_told_at(const struct lgs_scope *scope, unsigned place, uint64_t thread)
{
    struct lgs_told *told = scope ? scope->told : 0;
    while (told && (told->place != place || told->thread != thread))
        told = told->next;
    return told;
}

/* The calling thread's, or the shared one if there are too many; made if it is missing, perhaps for no memory. */
static struct lgs_told *lgs_told_own(struct lgs_scope *scope, unsigned place)
{
    uint64_t thread = lgs_thread_number();
    struct lgs_told *told = lgs_told_at(scope, place, thread);
    unsigned hearers = 0;
    for (const struct lgs_told *other = told ? 0 : scope->told; other; other = other->next)
        hearers += other->place == place;
    if (!told && hearers >= LGS_HEARERS)
        told = lgs_told_at(scope, place, thread = 0);
    if (!told && (told = calloc(1, sizeof *told))) {
        *told = (struct lgs_told){.place = place, .thread = thread, .value = (lgs_wide)1 << 100, .next = scope->told};
        scope->told = told;
    }
    return told;
}

/* The program calls the function again: what it has heard before counts no more, even if this call fails, and whatever has become of the call until
 * here. */
static void lgs_unheard(struct lgs_call *c, const void *host, unsigned place, const char *what)
{
    size_t at = lgs_scope_place(host);
    if (!at || at > __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = &lgs.scopes[at];
    bool lives = scope->type != 0;
    struct lgs_told *told = lives ? lgs_told_own(scope, place) : 0;
    if (told)
        told->heard = false;
    pthread_mutex_unlock(&lgs.lock);
    if (lives && !told)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
}

/* A question is what a function is asked that only looks: its numbers, its handles, and how often these may have changed. 0 is none: one may be changing now. Programs
 * ask again, for each row that they make room for or at each end of a loop, and go by one answer what they have made for another. So the same question has the
 * same answer. (A call that a jump has left is never over: nothing is asked of its handle from then on.) */
static uint64_t lgs_asks_with(uint64_t question, uint64_t value)
{
    uint64_t mixed = (question ^ value) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    return !question ? 0 : mixed ? mixed : 1;
}

static uint64_t lgs_asks_of(uint64_t question, uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = lgs_scope_of(handle);
    bool still = scope ? !scope->changing : !handle;
    uint64_t changes = scope ? scope->changes : 0;
    pthread_mutex_unlock(&lgs.lock);
    return still ? lgs_asks_with(lgs_asks_with(question, handle), changes) : 0;
}

/* A call takes the handle without const. */
static void lgs_changes(uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    if (scope) {
        scope->changes++;
        scope->changing++;
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* It is over. */
static void lgs_changed(uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    if (scope && scope->changing)
        scope->changing--;
    pthread_mutex_unlock(&lgs.lock);
}

/* Who asks the same hears the same. */
static void lgs_same(struct lgs_call *c, uint64_t handle, unsigned place, uint64_t question, lgs_wide answer, const char *what)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = c->failed ? 0 : lgs_scope_of(handle);
    const struct lgs_told *told = scope ? lgs_told_own(scope, place) : 0;
    bool other = told && question && told->question == question && told->answer != answer;
    pthread_mutex_unlock(&lgs.lock);
    if (other)
        lgs_fail(c, LG_STUB_LENGTH, what, "the library says otherwise than before, and no call without const has come between");
}

/* The program hears it. */
static void lgs_tell(uint64_t handle, unsigned place, lgs_wide value, uint64_t question)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    struct lgs_told *told = scope ? lgs_told_own(scope, place) : 0;
    if (told) {
        if (told->thread || value < told->value)
            told->value = value;
        told->heard = true;
        if (question) {
            told->question = question;
            told->answer = value;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* Who tells something, of which handle. */
struct lgs_asked {
    uint64_t handle;
    unsigned place;
    const char *function;
};

/* What it has heard, the least of it. Whatever the library would say now is not what the program's buffer was made for. */
static lgs_wide lgs_told(struct lgs_call *c, const struct lgs_asked *asked, unsigned count, bool called)
{
    lgs_wide value = 0;
    bool heard = false;
    const char *failed = 0;
    pthread_mutex_lock(&lgs.lock);
    for (unsigned i = 0; i < count; i++) {
        const struct lgs_scope *scope = lgs_scope_of(asked[i].handle);
        const struct lgs_told *own = lgs_told_at(scope, asked[i].place, lgs_thread_number());
        for (const struct lgs_told *told = own ? own : scope ? scope->told : 0; told; told = own ? 0 : told->next) {
            if (told->place != asked[i].place)
                continue;
            failed = told->heard ? failed : asked[i].function;
            value = told->heard && (!heard || told->value < value) ? told->value : value;
            heard |= told->heard;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
    if (failed)
        lgs_fail(c, LG_STUB_SIZE, failed, "a size depends on what this function says, and the last call of it has failed");
    else if (!heard && !called)
        lgs_fail(c, LG_STUB_SIZE, asked->function, "a size depends on what this function says, and the program has not called it");
    return failed ? 0 : value;
}
