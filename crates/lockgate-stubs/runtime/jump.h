/* ---- errors that jump ---------------------------------------------------------------------------------------------------------
 *
 * The program calls setjmp with memory of its own, of which the library has a namesake. When the library jumps, its call ends, as
 * with any other failure, and when nothing is left to do the stub calls the program's function (longjmp) with the program's jmp_buf.
 * The library cannot choose when: only calls may jump whose annotations say so, and only to the jmp_buf of the handle that they were
 * given; to others the function that called setjmp may have returned. */

/* For setjmp where there is no handle: nothing jumps there. */
static __thread jmp_buf lgs_nowhere __attribute__((unused));

/* The program's jmp_buf for errors of a handle: one, as long as the program has the handle, whatever the library answers, or whether it does. So setjmp, which the
 * program calls with it next, is the last one whenever a jump is made; and so it is for the program's own longjmp. */
static void *lgs_jump_own(const void *host, uint32_t type, lgs_jumper function)
{
    size_t at = lgs_scope_place(host);
    struct lgs_jump *jump = 0;
    if (!at || at > __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE))
        return &lgs_nowhere;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = &lgs.scopes[at];
    if (scope->type == type || scope->held) {
        if (!scope->jumps)
            __atomic_store_n(&scope->jumps, calloc(1, sizeof *scope->jumps), __ATOMIC_RELEASE);
        if ((jump = scope->jumps))
            jump->function = function;
    }
    pthread_mutex_unlock(&lgs.lock);
    return jump ? &jump->env : &lgs_nowhere;
}

/* The library's namesake of it is at `address`: it jumps by that. */
static void *lgs_jump_buffer(struct lgs_call *c, uint64_t address, uint64_t handle, void *own, const char *what)
{
    uint32_t offset;
    if (c->failed || (!address && lgs_null(c, 0, what)) || !lgs_offset(c, address, 1, &offset, what))
        return 0;
    pthread_mutex_lock(&lgs.lock);
    struct lgs_scope *scope = lgs_scope_of(handle);
    bool known = scope && scope->jumps && own == &scope->jumps->env;
    if (known)
        scope->jumps->inside = address;
    pthread_mutex_unlock(&lgs.lock);
    if (!known)
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory");
    return own;
}

/* The library jumps: out of its call, for a start. What it jumps to is copied now: by the time that the call has given back all that it held, another thread
 * may have let go of the handle. */
static void lgs_jump_later(struct lgs_call *c, const struct lgs_callback *here, uint64_t address, int value)
{
    bool found = false;
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = &lgs.scopes[c->jumps];
    const struct lgs_jump *jump = scope->type ? scope->jumps : 0;
    if (jump && jump->inside == address && (lg_code)jump->function == here->function) {
        found = true;
        lgs_thread.last = *jump;
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!found) {
        lgs_fail(c, LG_STUB_JUMP, "env", "the library jumped where the call that it was in may not jump");
        return;
    }
    lgs_thread.jump = &lgs_thread.last;
    lgs_thread.jump_value = value;
    c->failed = true;
}

/* Where errors of the call's handle jump to: what the program asked for last. */
static bool lgs_jump_find(const struct lgs_call *c, struct lgs_jump *to)
{
    if (!c->jumps || c->jumps > __atomic_load_n(&lgs.scope_count, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&lgs.lock);
    const struct lgs_scope *scope = &lgs.scopes[c->jumps];
    const struct lgs_jump *jump = scope->type || scope->held ? scope->jumps : 0;
    bool found = jump && jump->function;
    if (found)
        *to = *jump;
    pthread_mutex_unlock(&lgs.lock);
    return found;
}

/* The call has failed, and its handle ends with it all the same: where that jumps to is copied before. */
static __attribute__((unused)) void lgs_jump_at_end(const struct lgs_call *c)
{
    if (c->failed && !lgs_thread.jump && lgs_jump_find(c, &lgs_thread.last)) {
        lgs_thread.jump = &lgs_thread.last;
        lgs_thread.jump_value = 1;
    }
}

/* The call has failed, and everything that it held is given back. Returns if the program has not said where errors go. A handle that is none any more, because
 * its domain has ended, has its jmp_buf until the program lets go of it. */
static void lgs_jump(const struct lgs_call *c)
{
    struct lgs_jump jump = {0};
    int value = 1;
    if (lgs_thread.jump) {
        jump = lgs_thread.last;
        value = lgs_thread.jump_value;
    } else {
        lgs_jump_find(c, &jump);
    }
    lgs_thread.jump = 0;
    if (c->jumps && jump.function)
        jump.function(jump.env, value);
}

/* A function that does not return came back, and there is nowhere to jump. */
static LGS_NO_RETURN void lgs_stuck(const struct lgs_call *c)
{
    fprintf(stderr, "lockgate: %s: %s does not return, but the library did not jump, and the program has called no setjmp\n", lgs_name,
            c->function);
    abort();
}
