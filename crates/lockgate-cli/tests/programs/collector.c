/* A conservative collector of its own, small: it stops the world by signals, and finds pointers where nothing else has them than one thread's
   stack, general registers, vectors, red zone, a sleep, or a context. It prints what was kept and what was collected. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 4096
#define PAGES 64
#define CELL 64
#define CELLS (PAGES * PAGE / CELL)
#define NESTED 5
#define ROUNDS 10

struct cell { struct cell *next; long number; char filler[CELL - 16]; };

static struct cell *arena;
static unsigned char used[CELLS], marked[CELLS], dirty[PAGES];

static struct cell *allocate(long number) {
    for (int i = 0; i < CELLS; i++)
        if (!used[i]) {
            used[i] = 1;
            memset(&arena[i], 0, CELL);
            arena[i].number = number;
            return &arena[i];
        }
    puts("no room");
    exit(1);
}

/* A list of some, of which only the first one is known elsewhere: its address's complement, which is no pointer. */
static __attribute__((noinline)) uintptr_t hidden_list(long number) {
    struct cell *first = 0;
    for (int i = 0; i < NESTED; i++) {
        struct cell *cell = allocate(number);
        cell->next = first;
        first = cell;
    }
    return ~(uintptr_t)first;
}

static int is_whole(uintptr_t hidden, long number) {
    int length = 0;
    for (struct cell *cell = (struct cell *)~hidden; cell; cell = cell->next, length++)
        if (!used[cell - arena] || cell->number != number) return 0;
    return length == NESTED;
}

static void mark(uintptr_t word) {
    while (word >= (uintptr_t)arena && word < (uintptr_t)(arena + CELLS)) {
        size_t index = (word - (uintptr_t)arena) / CELL;
        if (!used[index] || marked[index]) return;
        marked[index] = 1;
        word = (uintptr_t)arena[index].next;
    }
}

static void scan(uintptr_t from, uintptr_t to) {
    for (from = (from + 7) & -8; from + 8 <= to; from += 8) mark(*(volatile uintptr_t *)from);
}

static int scan_data(struct dl_phdr_info *info, size_t size, void *unused) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_W)
            scan(info->dlpi_addr + header->p_vaddr, info->dlpi_addr + header->p_vaddr + header->p_memsz);
    }
    return 0;
}

/* Stacks whose ends are known. */
enum { THREADS = 7, CONTEXTS = 3, STACK = 65536 };
static struct { uintptr_t low, high; } stacks[THREADS + 1 + CONTEXTS + 1];
static int known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void know(uintptr_t low, uintptr_t high) {
    pthread_mutex_lock(&lock);
    stacks[known].low = low, stacks[known++].high = high;
    pthread_mutex_unlock(&lock);
}

static void know_own_stack(void) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) || pthread_attr_getstack(&attributes, &low, &size)) abort();
    pthread_attr_destroy(&attributes);
    know((uintptr_t)low, (uintptr_t)low + size);
}

static void scan_stack(uintptr_t from) {
    for (int i = 0; i < known; i++)
        if (from >= stacks[i].low && from < stacks[i].high) return scan(from, stacks[i].high);
    /* Of a context in a domain (docs/code-model.md, "Contexts"). */
    scan(from, (from | 0xffffff) - 0x3ffff);
}

static ucontext_t contexts[CONTEXTS], of_main, of_thread, back;
static pthread_t threads[THREADS];
static uintptr_t stopped_at[THREADS];
static sem_t has_stopped, may_go_on;

static void stop(int number) {
    pthread_t self = pthread_self();
    for (int i = 0; i < THREADS; i++)
        if (pthread_equal(threads[i], self)) stopped_at[i] = (uintptr_t)__builtin_frame_address(0) & -16;
    sem_post(&has_stopped);
    while (sem_wait(&may_go_on)) {}
    sem_post(&has_stopped);
}

static void wait_for_all(void) {
    for (int i = 0; i < THREADS; i++)
        while (sem_wait(&has_stopped)) {}
}

static __attribute__((noinline)) void mark_all(void) {
    __builtin_unwind_init();
    dl_iterate_phdr(scan_data, 0);
    scan_stack((uintptr_t)__builtin_frame_address(0) & -16);
    for (int i = 0; i < THREADS; i++) scan_stack(stopped_at[i]);
    for (int i = 0; i < CONTEXTS; i++) scan_stack(contexts[i].uc_mcontext.gregs[REG_RSP]);
    scan_stack(back.uc_mcontext.gregs[REG_RSP]);
}

/* How many cells it has freed. */
static int collect(void) {
    memset(marked, 0, sizeof marked);
    for (int i = 0; i < THREADS; i++) pthread_kill(threads[i], SIGUSR1);
    wait_for_all();
    mark_all();
    int freed = 0;
    for (int i = 0; i < CELLS; i++)
        if (used[i] && !marked[i]) {
            used[i] = 0;
            memset(&arena[i], 0xdd, CELL);
            freed++;
        }
    for (int i = 0; i < THREADS; i++) sem_post(&may_go_on);
    wait_for_all();
    return freed;
}

/* Where the only pointer is that leads to a list. */
static uintptr_t lists[THREADS + CONTEXTS];
static volatile int holds[THREADS], enough;
static sem_t sleeping;

/* Nothing of the compiler's is between the one step that makes the pointer and the one that hides it again. */
#define WHILE_NOT_ENOUGH "xor %%ebx,%%ebx\nmovl $1,%[holds]\n1: pause\ncmpl $0,%[enough]\nje 1b\n"
#define HOLD(in, out)                                                                                             \
    __asm__ volatile("mov %[hidden],%%rbx\nnot %%rbx\n" in "not %%rbx\nmov %%rbx,%[hidden]\n" out                   \
                     : [hidden] "+m"(lists[number]), [holds] "=m"(holds[number])                                   \
                     : [enough] "m"(enough)                                                                       \
                     : "rbx", "r12", "xmm5", "xmm6", "memory", "cc")

static void in_a_register(int number) { HOLD("mov %%rbx,%%r12\n" WHILE_NOT_ENOUGH "mov %%r12,%%rbx\n", ""); }
static void in_a_vector(int number) { HOLD("movq %%rbx,%%xmm5\n" WHILE_NOT_ENOUGH "movq %%xmm5,%%rbx\n", ""); }
static void in_an_upper_half(int number) {
    HOLD("vmovq %%rbx,%%xmm5\nvpxor %%xmm6,%%xmm6,%%xmm6\nvinsertf128 $1,%%xmm5,%%ymm6,%%ymm6\nvpxor %%xmm5,%%xmm5,%%xmm5\n" WHILE_NOT_ENOUGH
         "vextractf128 $1,%%ymm6,%%xmm5\nvmovq %%xmm5,%%rbx\n",
         "vzeroupper\n");
}
static void in_the_red_zone(int number) { HOLD("mov %%rbx,-120(%%rsp)\n" WHILE_NOT_ENOUGH "mov -120(%%rsp),%%rbx\n", ""); }

static void on_the_stack(int number) {
    void *volatile pointer = (void *)~lists[number];
    holds[number] = 1;
    while (!enough) {}
    lists[number] = ~(uintptr_t)pointer;
}

static void in_a_sleep(int number) {
    void *volatile pointer = (void *)~lists[number];
    holds[number] = 1;
    while (sem_wait(&sleeping)) {}
    lists[number] = ~(uintptr_t)pointer;
}

static void of_this_context(void) { on_the_stack(THREADS - 1); }

static void on_a_context(int number) {
    makecontext(&of_thread, of_this_context, 0);
    swapcontext(&back, &of_thread);
}

static void (*const holders[THREADS])(int) = {
    in_a_register, in_a_vector, in_an_upper_half, in_the_red_zone, on_the_stack, in_a_sleep, on_a_context,
};

static void *hold(void *argument) {
    long number = (long)argument;
    know_own_stack();
    holders[number](number);
    return 0;
}

static void waits(void) {
    static int count;
    int number = count++;
    struct cell *volatile first = (struct cell *)~lists[THREADS + number];
    swapcontext(&contexts[number], &of_main);
    lists[THREADS + number] = ~(uintptr_t)first;
}

static void new_context(ucontext_t *context, ucontext_t *then) {
    getcontext(context);
    context->uc_stack.ss_sp = malloc(STACK);
    context->uc_stack.ss_size = STACK;
    context->uc_link = then;
    know((uintptr_t)context->uc_stack.ss_sp, (uintptr_t)context->uc_stack.ss_sp + STACK);
}

/* As incremental collectors do: pages that are written to are known by a fault. */
static void has_written(int number, siginfo_t *info, void *context) {
    uintptr_t page = ((uintptr_t)info->si_addr - (uintptr_t)arena) / PAGE;
    if (page >= PAGES || dirty[page]) abort();
    dirty[page] = 1;
    mprotect((char *)arena + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static __attribute__((noinline)) void garbage(int cells) {
    for (int i = 0; i < cells; i++) allocate(-1);
}

int main(void) {
    arena = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sem_init(&has_stopped, 0, 0), sem_init(&may_go_on, 0, 0), sem_init(&sleeping, 0, 0);
    struct sigaction stops = {.sa_handler = stop, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &stops, 0);
    struct sigaction writes = {.sa_sigaction = has_written, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &writes, 0);
    know_own_stack();

    for (int i = 0; i < THREADS + CONTEXTS; i++) lists[i] = hidden_list(i);
    for (int i = 0; i < CONTEXTS; i++) {
        new_context(&contexts[i], &of_main);
        makecontext(&contexts[i], waits, 0);
        swapcontext(&of_main, &contexts[i]);
    }
    new_context(&of_thread, &back);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, hold, (void *)i);
    for (int i = 0; i < THREADS; i++)
        while (!holds[i]) sched_yield();

    int rounds = 0, wholes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        /* (A few that a word happens to point to are no defect.) */
        garbage(500);
        rounds += collect() >= 490;
        int whole = 1;
        for (int i = 0; i < THREADS + CONTEXTS; i++) whole &= is_whole(lists[i], i);
        wholes += whole;
    }
    printf("%d rounds: in %d of them garbage was freed, and after %d all else was there\n", ROUNDS, rounds, wholes);

    mprotect(arena, PAGES * PAGE, PROT_READ);
    int expected = 0, wrong = 0;
    for (int page = 0; page < PAGES; page += 3, expected++) ((volatile struct cell *)arena)[page * PAGE / CELL + 1].filler[0] = 1;
    for (int page = 0; page < PAGES; page++) wrong += dirty[page] != (page % 3 == 0);
    printf("%d pages were written to, %d are wrong about that\n", expected, wrong);
    mprotect(arena, PAGES * PAGE, PROT_READ | PROT_WRITE);

    enough = 1;
    sem_post(&sleeping);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < CONTEXTS; i++) swapcontext(&of_main, &contexts[i]);
    for (int i = 0; i < THREADS + CONTEXTS; i++) printf("list %d: %s\n", i, is_whole(lists[i], i) ? "whole" : "lost");
    return 0;
}
