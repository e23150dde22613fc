/* Coroutines by <ucontext.h>: generators, many that take turns, jumps within one, links, arguments, control words. */
#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK 65536
#define RING 60

struct coroutine {
    ucontext_t here, back;
    char *stack;
    int value, over;
};

static void begin(struct coroutine *c, void (*body)(void), struct coroutine *next) {
    memset(c, 0, sizeof *c);
    c->stack = malloc(STACK);
    getcontext(&c->here);
    c->here.uc_stack.ss_sp = c->stack;
    c->here.uc_stack.ss_size = STACK;
    c->here.uc_link = next ? &next->here : &c->back;
    /* As programs do that know int arguments alone. */
    makecontext(&c->here, body, 2, (int)(unsigned)(unsigned long)c, (int)((unsigned long)c >> 32));
}

static struct coroutine *self(int low, int high) { return (struct coroutine *)((unsigned long)(unsigned)low | (unsigned long)(unsigned)high << 32); }
static void yield(struct coroutine *c, int value) { c->value = value; swapcontext(&c->here, &c->back); }
static int next(struct coroutine *c) { if (c->over) return -1; swapcontext(&c->back, &c->here); return c->value; }

static void squares(int low, int high) {
    struct coroutine *c = self(low, high);
    for (int i = 0; i < 10; i++) yield(c, i * i);
    c->value = -1;
    c->over = 1;
}

/* Yields from all depths of a recursion with frames of every size. */
static int walk(struct coroutine *c, int n) {
    char room[n * 7 + 1];
    memset(room, n, sizeof room);
    if (n == 0) return 0;
    yield(c, n);
    int sum = walk(c, n - 1) + walk(c, n - 2 > 0 ? n - 2 : 0);
    for (unsigned i = 0; i < sizeof room; i++) sum += room[i] != n;
    yield(c, -n);
    return sum + 1;
}
static void tree(int low, int high) {
    struct coroutine *c = self(low, high);
    c->value = 1000 + walk(c, 6);
    c->over = 1;
}

static struct coroutine ring[RING];
static long turns;
static void passes_on(int low, int high) {
    struct coroutine *c = self(low, high);
    int number = c - ring;
    volatile long kept[16];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 16; i++) kept[i] = number * 100 + round + i;
        turns += number;
        struct coroutine *other = &ring[(number * 7 + round) % RING];
        if (other == c) other = &ring[(number + 1) % RING];
        swapcontext(&c->here, number == RING - 1 ? &ring[0].back : &ring[number + 1].here);
        for (int i = 0; i < 16; i++) turns += kept[i] != number * 100 + round + i;
    }
    swapcontext(&c->here, number == RING - 1 ? &ring[0].back : &ring[number + 1].here);
}

static void throws(jmp_buf place, int n) { if (n) throws(place, n - 1); else longjmp(place, 3); }
static void catches(int low, int high) {
    struct coroutine *c = self(low, high);
    for (int i = 0; i < 5; i++) {
        jmp_buf place;
        volatile int before = i;
        int thrown = setjmp(place);
        if (!thrown) throws(place, i * 3);
        yield(c, thrown * 10 + before);
    }
    c->over = 1;
}

static void arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k) {
    printf("arguments %d %d %d %d %d %d %d %d %d %d %d\n", a, b, c, d, e, f, g, h, i, j, k);
}

static void rounds(int low, int high) {
    struct coroutine *c = self(low, high);
    fesetround(FE_UPWARD);
    yield(c, fegetround() == FE_UPWARD);
    yield(c, fegetround() == FE_UPWARD);
}

/* The example of many manuals: getcontext as a landing, uc_link leads to it. */
static void manual(void) {
    static ucontext_t loop, first, second;
    static char room[STACK];
    volatile int finished = 0, seen = 0;
    loop.uc_link = &first;
    struct coroutine c;
    getcontext(&loop);
    begin(&c, (void (*)(void))squares, 0);
    c.here.uc_link = &first;
    makecontext(&c.here, (void (*)(void))squares, 2, (int)(unsigned)(unsigned long)&c, (int)((unsigned long)&c >> 32));
    getcontext(&first);
    if (!finished) {
        finished = 1;
        for (;;) {
            swapcontext(&c.back, &c.here);
            seen += c.value;
        }
    }
    printf("manual %d %d\n", seen, c.over);
    free(c.stack);
}

static void loops(void) {
    ucontext_t here;
    volatile int times = 0;
    getcontext(&here);
    if (++times < 5) setcontext(&here);
    printf("loops %d\n", times);
}

int main(void) {
    struct coroutine c;
    begin(&c, (void (*)(void))squares, 0);
    for (int v; (v = next(&c)) >= 0;) printf("%d ", v);
    printf("\n");
    free(c.stack);
    begin(&c, (void (*)(void))tree, 0);
    for (int v = next(&c); !c.over; v = next(&c)) printf("%d ", v);
    printf("%d\n", c.value);
    free(c.stack);

    for (int i = 0; i < RING; i++) begin(&ring[i], (void (*)(void))passes_on, 0);
    for (int i = 0; i < 50; i++) swapcontext(&ring[0].back, &ring[0].here);
    printf("turns %ld\n", turns);

    struct coroutine other;
    for (int i = 0; i < RING; i++) free(ring[i].stack);
    begin(&c, (void (*)(void))catches, 0);
    begin(&other, (void (*)(void))catches, 0);
    for (int i = 0; i < 5; i++) printf("%d %d ", next(&c), next(&other));
    printf("\n");
    free(c.stack);
    free(other.stack);

    ucontext_t back, many;
    char *room = malloc(STACK);
    getcontext(&many);
    many.uc_stack.ss_sp = room;
    many.uc_stack.ss_size = STACK;
    many.uc_link = &back;
    makecontext(&many, (void (*)(void))arguments, 11, 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11);
    printf("%d\n", swapcontext(&back, &many));
    free(room);

    begin(&c, (void (*)(void))rounds, 0);
    int upward = next(&c);
    printf("rounds %d %d", upward, fegetround() == FE_TONEAREST);
    printf(" %d %d\n", next(&c), fegetround() == FE_TONEAREST);
    free(c.stack);
    manual();
    loops();

    /* Made and dropped, many times. */
    int sum = 0;
    for (int i = 0; i < 1000; i++) {
        begin(&c, (void (*)(void))squares, 0);
        for (int k = 0; k < 4; k++) sum += next(&c);
        free(c.stack);
    }
    printf("sum %d\n", sum);
    return 0;
}
