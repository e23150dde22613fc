/* ---- what the program has heard, or said, of a handle: sizes of other calls build on it --------------------------------------- */

static struct lgs_told **lgs_told_at(uint64_t handle, unsigned place)
{
    struct lgs_told **at = &lgs.told[(handle >> 4 ^ place) % LGS_BUCKETS];
    while (*at && ((*at)->handle != handle || (*at)->place != place))
        at = &(*at)->next;
    return at;
}

/* The program has heard it. */
static void lgs_tell(struct lgs_call *c, uint64_t handle, unsigned place, lgs_wide value, const char *what)
{
    if (!handle)
        return;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_told **at = lgs_told_at(handle, place), *told = *at;
    if (!told && (told = calloc(1, sizeof *told))) {
        told->handle = handle;
        told->place = place;
        *at = told;
        lgs.remembers = true;
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
    const struct lgs_told *told = *lgs_told_at(handle, place);
    lgs_wide value = told ? told->value : 0;
    pthread_mutex_unlock(&lgs.lock);
    if (!told && !called)
        lgs_fail(c, LG_STUB_SIZE, function, "a size depends on what this function says, and the program has not called it");
    return value;
}

/* The handle is no more. */
static void lgs_forget(uint64_t handle)
{
    pthread_mutex_lock(&lgs.lock);
    lgs_life_ends(handle);
    for (struct lgs_open *open = lgs.streams; open; open = open->next)
        if (open->handle == handle)
            open->kept = false;
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        for (struct lgs_told **at = &lgs.told[i]; *at;) {
            struct lgs_told *told = *at;
            if (told->handle == handle) {
                *at = told->next;
                free(told);
            } else {
                at = &told->next;
            }
        }
    for (struct lgs_jump **at = &lgs.jumps; *at;) {
        struct lgs_jump *jump = *at;
        if (jump->handle == handle) {
            *at = jump->next;
            if (lgs_thread.jump == jump) {
                lgs_thread.last = *jump;
                lgs_thread.jump = &lgs_thread.last;
            }
            free(jump);
        } else {
            at = &jump->next;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
}
