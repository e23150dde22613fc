/* ---- a new domain after a fault (option "restart") ------------------------------------------------------------------------ */

/* Frees a list whose elements have a field `next`. */
#define LGS_FREE_LIST(list, before)         \
    while (list) {                          \
        void *next = (list)->next;          \
        before;                             \
        free(list);                         \
        (list) = next;                      \
    }

/* What earlier restarts had to leave: no call of theirs is in a callback any more. */
static void lgs_retired_free(void)
{
    for (struct lgs_retired *next; lgs.retired; lgs.retired = next) {
        next = lgs.retired->next;
        for (unsigned i = 0; i < LGS_BUCKETS; i++)
            LGS_FREE_LIST(lgs.retired->callbacks[i], lg_callback_free(lgs.retired->callbacks[i]->made));
        for (unsigned i = 0; i < sizeof lgs.functions / sizeof *lgs.functions; i++)
            lg_function_free(lgs.retired->functions[i]);
        free(lgs.retired);
    }
}

/* Ends the domain with all that it had, and begins another. No thread is inside, but calls may be in callbacks: they end when these return. Handles of the old
 * domain are none any more; what it had given out by copies stays readable. If it cannot begin (no memory, a beginning that was too slow), the next call tries
 * again. */
static bool lgs_restart(void)
{
    struct lgs_retired *retired = calloc(1, sizeof *retired);
    if (!retired)
        return false;
    memcpy(retired->functions, lgs.functions, sizeof lgs.functions);
    memcpy(retired->callbacks, lgs.callbacks, sizeof lgs.callbacks);
    memset(lgs.callbacks, 0, sizeof lgs.callbacks);
    retired->next = lgs.retired;
    lgs.retired = retired;
    lgs_scopes_end(false);
    pthread_mutex_lock(&lgs.lock);
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        lgs_kept_end(&lgs.kept[i]);
    pthread_mutex_unlock(&lgs.lock);
    /* What is left was given for good, or for calls that are in callbacks. */
    for (size_t place = 1; place <= lgs.data_count; place++)
        if (lgs_token(place)->number && !lgs_token(place)->call)
            lgs_data_free(place);
    lg_domain_close(lgs.domain);
    if (!__atomic_load_n(&lgs.out, __ATOMIC_ACQUIRE))
        lgs_retired_free();
    LGS_FREE_LIST(lgs.kept_regions, lgs_region_free(&lgs.kept_regions->stage));
    /* (A thread that ends meanwhile may give a place back.) */
    pthread_mutex_lock(&lgs.lock);
    LGS_FREE_LIST(lgs.spare, );
    lgs.generation++;
    pthread_mutex_unlock(&lgs.lock);
    lgs.broken = !lgs_domain_begin();
    return !lgs.broken;
}

/* A call begins: in a domain that has not failed, with memory that is shared with this one. */
static void lgs_come_in(struct lgs_call *c)
{
    bool begun = true;
    pthread_rwlock_rdlock(&lgs_running);
    while (begun && __atomic_load_n(&lgs.broken, __ATOMIC_ACQUIRE) && !lgs_start_failed && !lgs_thread.depth) {
        /* Other calls that are in it would be waited for. */
        lg_domain_kill(lgs.domain);
        pthread_rwlock_unlock(&lgs_running);
        pthread_rwlock_wrlock(&lgs_running);
        if (lgs.broken)
            begun = lgs_restart();
        pthread_rwlock_unlock(&lgs_running);
        pthread_rwlock_rdlock(&lgs_running);
    }
    c->inside = true;
    c->generation = lgs.generation;
    if (!begun)
        lgs_fail(c, LG_STUB_START, "it could not be restarted", lg_last_message());
    if (lgs_thread.generation == lgs.generation)
        return;
    if (lgs_thread.depth) {
        lgs_fail(c, LG_STUB_FAULT, "call", "the domain has ended that called the function which this call is made from");
        return;
    }
    lgs_stage_free();
    lgs_lent_end(lgs_thread.lent);
    lgs_thread.generation = lgs.generation;
}

static void lgs_go_out(struct lgs_call *c)
{
    c->inside = false;
    pthread_rwlock_unlock(&lgs_running);
}

/* The program's function is called. It may end its thread, jump out, or wait for who restarts. */
static void lgs_calls_out(void)
{
    struct lgs_mark *mark = &lgs_thread.marks[lgs_thread.depth - 1];
    lgs_watch();
    mark->out = true;
    __atomic_fetch_add(&lgs.out, 1, __ATOMIC_ACQ_REL);
    mark->holder = lgs_thread.depth - 1;
    while (mark->holder && !lgs_thread.marks[mark->holder - 1].inside)
        mark->holder--;
    if (mark->holder) {
        lgs_thread.marks[mark->holder - 1].inside = false;
        pthread_rwlock_unlock(&lgs_running);
    }
}

/* It has returned, perhaps in a child. */
static void lgs_called_back(struct lgs_call *c)
{
    lgs_notice_child();
    while (lgs_thread.depth && lgs_thread.marks[lgs_thread.depth - 1].call != c)
        lgs_pop();
    struct lgs_mark *mark = lgs_thread.depth ? &lgs_thread.marks[lgs_thread.depth - 1] : 0;
    if (mark && mark->holder) {
        pthread_rwlock_rdlock(&lgs_running);
        lgs_thread.marks[mark->holder - 1].inside = true;
    }
    if (mark && mark->out) {
        mark->out = false;
        __atomic_fetch_sub(&lgs.out, 1, __ATOMIC_ACQ_REL);
    }
    if (c->generation != lgs.generation)
        lgs_fail(c, LG_STUB_FAULT, "call", "the domain has ended that called this function");
}
