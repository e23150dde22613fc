/* ---- what the program has heard, or said, of a handle: sizes of other calls build on it --------------------------------------- */

static struct lgs_told *lgs_told_at(const struct lgs_scope *scope, unsigned place)
{
    struct lgs_told *told = scope ? scope->told : 0;
    while (told && told->place != place)
        told = told->next;
    return told;
}

/* The program has heard it. */
static void lgs_tell(struct lgs_call *c, uint64_t handle, unsigned place, lgs_wide value, const char *what)
{
    if (!handle)
        return;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    struct lgs_told *told = lgs_told_at(scope, place);
    if (scope && !told && (told = calloc(1, sizeof *told))) {
        *told = (struct lgs_told){.place = place, .next = scope->told};
        scope->told = told;
    }
    if (told)
        told->value = value;
    pthread_mutex_unlock(&lgs.lock);
    if (!told)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
}

/* What it has heard from `function`. Whatever the library would say now is not what the program's buffer was made for. */
static lgs_wide lgs_told(struct lgs_call *c, uint64_t handle, unsigned place, bool called, const char *function)
{
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_told *told = lgs_told_at(lgs_scope_of(handle), place);
    lgs_wide value = told ? told->value : 0;
    pthread_mutex_unlock(&lgs.lock);
    if (!told && !called)
        lgs_fail(c, LG_STUB_SIZE, function, "a size depends on what this function says, and the program has not called it");
    return value;
}
