/* ---- what the program has heard, or said, of a handle: sizes of other calls build on it --------------------------------------- */

static struct lgs_told *lgs_told_at(const struct lgs_scope *scope, unsigned place)
{
    struct lgs_told *told = scope ? scope->told : 0;
    while (told && told->place != place)
        told = told->next;
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
    struct lgs_told *told = lgs_told_at(scope, place);
    bool lives = scope->type != 0;
    if (lives && !told && (told = calloc(1, sizeof *told))) {
        *told = (struct lgs_told){.place = place, .next = scope->told};
        scope->told = told;
    }
    if (told)
        told->heard = false;
    pthread_mutex_unlock(&lgs.lock);
    if (lives && !told)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
}

/* The program hears it. */
static void lgs_tell(uint64_t handle, unsigned place, lgs_wide value)
{
    pthread_mutex_lock(&lgs.lock);
    struct lgs_told *told = lgs_told_at(lgs_scope_of(handle), place);
    if (told) {
        told->value = value;
        told->heard = true;
    }
    pthread_mutex_unlock(&lgs.lock);
}

/* What it has heard from `function`. Whatever the library would say now is not what the program's buffer was made for. */
static lgs_wide lgs_told(struct lgs_call *c, uint64_t handle, unsigned place, bool called, const char *function)
{
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_told *told = lgs_told_at(lgs_scope_of(handle), place);
    bool failed = told && !told->heard;
    lgs_wide value = told && told->heard ? told->value : 0;
    pthread_mutex_unlock(&lgs.lock);
    if (failed)
        lgs_fail(c, LG_STUB_SIZE, function, "a size depends on what this function says, and the last call of it has failed");
    else if (!told && !called)
        lgs_fail(c, LG_STUB_SIZE, function, "a size depends on what this function says, and the program has not called it");
    return value;
}
