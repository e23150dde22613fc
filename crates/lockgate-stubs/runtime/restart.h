/* ---- a new domain after a fault (option "restart") ------------------------------------------------------------------------ */

/* Frees a list whose elements have a field `next`. */
#define LGS_FREE_LIST(list, before)         \
    while (list) {                          \
        void *next = (list)->next;          \
        before;                             \
        free(list);                         \
        (list) = next;                      \
    }

/* Ends the domain with all that it had, and begins another. Nobody is inside. Handles of the old one are none any more; what it had given out
 * by copies stays readable. */
static void lgs_restart(void)
{
    for (unsigned i = 0; i < LGS_BUCKETS; i++) {
        LGS_FREE_LIST(lgs.callbacks[i], lg_callback_free(lgs.callbacks[i]->made));
        LGS_FREE_LIST(lgs.kept[i], );
    }
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        LGS_FREE_LIST(lgs.told[i], );
    for (unsigned i = 0; i < LGS_BUCKETS; i++)
        while (lgs.lives[i])
            lgs_life_ends(lgs.lives[i]->handle);
    LGS_FREE_LIST(lgs.jumps, );
    LGS_FREE_LIST(lgs.spare, );
    LGS_FREE_LIST(lgs.lent, );
    for (unsigned i = 0; i < LGS_FUNCTION_COUNT + 2; i++)
        lg_function_free(lgs.functions[i]);
    lg_domain_close(lgs.domain);
    LGS_FREE_LIST(lgs.kept_regions, lgs_region_free(&lgs.kept_regions->stage));
    madvise(lgs.tags, LGS_WINDOW / 8, MADV_DONTNEED);
    lgs.generation++;
    lgs.broken = false;
    if (!lgs_domain_begin())
        lgs_start_failed = "it could not be restarted";
}

/* The first call on this thread begins: in a domain that has not failed, with memory that is shared with this one. */
static void lgs_come_in(struct lgs_call *c)
{
    pthread_rwlock_rdlock(&lgs_running);
    while (__atomic_load_n(&lgs.broken, __ATOMIC_ACQUIRE) && !lgs_start_failed) {
        pthread_rwlock_unlock(&lgs_running);
        pthread_rwlock_wrlock(&lgs_running);
        if (lgs.broken)
            lgs_restart();
        pthread_rwlock_unlock(&lgs_running);
        pthread_rwlock_rdlock(&lgs_running);
    }
    if (lgs_thread.generation != lgs.generation) {
        lgs_leave_thread(0);
        lgs_thread.block = 0;
        lgs_thread.used = 0;
        lgs_thread.generation = lgs.generation;
    }
    lgs_thread.inside = true;
    c->outermost = true;
}

static void lgs_go_out(void)
{
    lgs_thread.inside = false;
    pthread_rwlock_unlock(&lgs_running);
}
