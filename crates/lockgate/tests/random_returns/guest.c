/* What the programs of main.rs share. A program is some functions with frames of all kinds, which call each other, switch contexts,
   jump, and ask the host, as a random number says. Each frame knows what it was called with, and which context it is of: what a
   return to anything else than the own caller leaves behind is counted. */
#include <setjmp.h>
#include <ucontext.h>

#define FAR __attribute__((noinline, noclone))
#define COUNT 20
#define DEEP 24
#define STACK 131072

long host(long);

enum { FREE, WAITS, RUNS };

/* The frames of a context, or a call's own. */
struct frames {
    ucontext_t at, old;
    int state;
    long depth;
    long tokens[DEEP + 1];
};

/* A call from the host: its own frames, the call that it is nested in, and what that one ran. */
struct call {
    struct frames own;
    struct call *outer;
    struct frames *below;
};

struct thread {
    struct call *call;
    struct frames *runs;
    /* In a switch: what is left, and what was taken for it. */
    struct frames *left, *taken;
    unsigned long random;
    long steps, done, switched;
};

static struct frames pool[COUNT];
static char stacks[COUNT][STACK];
static __thread struct thread this;
static long wrong, all_done, all_switched;
static long (*const functions[FUNCTIONS])(long);

/* Asked for again after each switch, and never remembered across one. */
FAR static struct thread *self(void) {
    struct thread *thread = &this;
    __asm__ volatile("" : "+r"(thread));
    return thread;
}

FAR static void check(int right) {
    if (!right) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

FAR static unsigned long next(void) {
    struct thread *thread = self();
    unsigned long x = thread->random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return (thread->random = x) >> 8;
}

static int is_context(struct frames *frames) { return frames >= pool && frames < pool + COUNT; }

static void set_state(struct frames *frames, int state) {
    if (frames && is_context(frames)) __atomic_store_n(&frames->state, state, __ATOMIC_RELEASE);
}

/* What a switch has led to. */
FAR static void arrive(struct frames *mine) {
    struct thread *thread = self();
    struct frames *left = thread->left;
    check(thread->taken == mine || !thread->taken);
    thread->left = thread->taken = 0;
    thread->runs = mine;
    thread->switched++;
    if (left && is_context(left) && next() % 4 == 0) left->old = left->at;
    set_state(left, WAITS);
}

/* A call has ended in the midst of a switch: what it ran is lost. */
FAR static void recover(struct thread *thread) {
    set_state(thread->taken, WAITS);
    set_state(thread->left, FREE);
    thread->left = thread->taken = 0;
}

FAR static void go(struct frames *mine, struct frames *to, ucontext_t *at) {
    struct thread *thread = self();
    thread->left = mine;
    thread->taken = to;
    if (swapcontext(&mine->at, at)) {
        /* There is no stack. */
        thread = self();
        thread->left = thread->taken = 0;
        set_state(to, FREE);
        return;
    }
    arrive(mine);
}

static void act(struct frames *mine, long token);
FAR static void turn(struct frames *mine);

static void begin(int number) {
    arrive(&pool[number]);
    for (;;) {
        act(&pool[number], next());
        turn(&pool[number]);
    }
}

FAR static void make(struct frames *frames) {
    int number = frames - pool;
    frames->depth = 0;
    frames->old.uc_flags = 0;
    getcontext(&frames->at);
    frames->at.uc_stack.ss_sp = stacks[number];
    frames->at.uc_stack.ss_size = STACK;
    frames->at.uc_link = 0;
    makecontext(&frames->at, (void (*)(void))begin, 1, number);
}

/* Goes on in another context; or in the call's own frames, if it is to end. Now and then by a word that may be out of date. */
FAR static void turn(struct frames *mine) {
    struct thread *thread = self();
    unsigned long random = next();
    struct frames *to = &pool[random % COUNT];
    int state = WAITS;
    if (thread->steps <= 0 || random >> 8 & 3) {
        if (is_context(mine)) return go(mine, &thread->call->own, &thread->call->own.at);
        if (thread->steps <= 0) return;
    }
    if (__atomic_compare_exchange_n(&to->state, &state, RUNS, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        int old = to->old.uc_flags && (random >> 16) % 256 == 0;
        if ((random >> 24) % 16 == 0) make(to);
        go(mine, to, old ? &to->old : &to->at);
    } else if (state == FREE && __atomic_compare_exchange_n(&to->state, &state, RUNS, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        make(to);
        go(mine, to, &to->at);
    }
}

/* What the call that this one is nested in runs, and its own frames: not to be had. */
FAR static void forbidden(struct frames *mine) {
    struct thread *thread = self();
    struct call *call = thread->call;
    if (!call->outer || next() % 64) return;
    struct frames *to = next() % 2 ? call->below : &call->outer->own;
    if (!to->at.uc_flags) return;
    thread->left = mine;
    thread->taken = 0;
    swapcontext(&mine->at, &to->at);
    check(0);
}

FAR static void outside(struct frames *mine) {
    struct thread *thread = self();
    struct call *call = thread->call;
    long steps = thread->steps;
    host(next());
    check(self() == thread);
    recover(thread);
    thread->call = call;
    thread->runs = mine;
    thread->steps = steps;
}

FAR static void leave(jmp_buf place, long n) {
    volatile char room[16 * n + 1];
    room[n] = 1;
    if (n) leave(place, n - 1); else longjmp(place, room[n]);
    __asm__ volatile("");
}

FAR static void jump(struct frames *mine) {
    jmp_buf place;
    volatile long depth = mine->depth;
    if (!setjmp(place)) leave(place, next() % 8);
    check(mine->depth == depth && self()->runs == mine);
}

static void answered(struct frames *mine, long token, long answer) { check(answer == ~token && self()->runs == mine); }

static void act(struct frames *mine, long token) {
    answered(mine, token, functions[next() % FUNCTIONS](token));
}

/* What a function begins and ends with. */
FAR static long enter(struct frames *mine, long token) {
    self()->steps--;
    self()->done++;
    if (mine->depth < DEEP) mine->tokens[mine->depth] = token;
    return mine->depth++;
}

FAR static int goes_on(struct frames *mine, long depth) {
    if (self()->steps > 0) return depth < DEEP;
    if (is_context(mine) && next() % 2) turn(mine);
    return self()->steps > 0 && depth < DEEP;
}

FAR static void end(struct frames *mine, long depth, long token) {
    check(self()->runs == mine && mine->depth == depth + 1 && (depth >= DEEP || mine->tokens[depth] == token));
    mine->depth = depth;
}

static long run(long random, long steps, int nested) {
    struct thread *thread = self();
    if (!nested) {
        recover(thread);
        thread->call = 0;
        thread->runs = 0;
    }
    __atomic_fetch_add(&all_done, thread->done, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all_switched, thread->switched, __ATOMIC_RELAXED);
    struct call call;
    call.own.depth = 0;
    call.own.at.uc_flags = 0;
    call.outer = thread->call;
    call.below = thread->runs;
    thread->done = thread->switched = 0;
    thread->random = random | 1;
    thread->steps = steps;
    thread->call = &call;
    thread->runs = &call.own;
    while (thread->steps > 0) act(&call.own, next());
    check(thread->runs == &call.own && call.own.depth == 0 && self() == thread);
    thread->call = call.outer;
    thread->runs = call.below;
    return __atomic_load_n(&wrong, __ATOMIC_RELAXED);
}

long call(long random, long steps) { return run(random, steps, 0); }
long again(long random, long steps) { return run(random, steps, 1); }
long poke(long x) { return x + 1; }
long done(void) { return all_done; }
long switched(void) { return all_switched; }
