/* Arenas, and memory that is lent for a call. */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static lg_module *module;

/* What a domain has done with memory: 0, or the error of its call. */
static int reads(lg_domain *domain, const void *at, int wanted) {
    int (*read_int)(const int *) = POINTER(int (*)(const int *), bind(domain, "read_int"));
    int got = read_int((const int *)at);
    int error = lg_take_call_error();
    CHECK(error || got == wanted);
    return error;
}

static int writes(lg_domain *domain, void *at, int value) {
    void (*write_int)(int *, int) = POINTER(void (*)(int *, int), bind(domain, "write_int"));
    write_int((int *)at, value);
    return lg_take_call_error();
}

static void arenas(void) {
    lg_domain *one = new_domain(module, NULL), *two = new_domain(module, NULL);
    NOTHING(LG_E_EMPTY, lg_arena_new(0));
    NOTHING(LG_E_NO_ROOM, lg_arena_new(UINT64_C(1) << 40));
    lg_arena *arena = lg_arena_new(10000), *other = lg_arena_new(4096);
    CHECK(arena && other && lg_arena_room(arena) == 12288);
    char *here = (char *)lg_arena_address(arena);
    int *block = (int *)lg_arena_alloc(arena, 100);
    CHECK(block && (char *)block >= here && (char *)block < here + 12288 && (uintptr_t)block % 64 == 0);
    CHECK(lg_arena_room(arena) == 12288 - 128);
    block[0] = 41;

    /* Who has it, and with which rights. */
    NOTHING(LG_E_NOT_OPEN, lg_arena_pointer(one, block, 4, LG_READ));
    char *in_one = (char *)lg_arena_open(arena, one, LG_READ), *in_two = (char *)lg_arena_open(arena, two, LG_READ_WRITE);
    CHECK(in_one && in_two);
    NOTHING(LG_E_OVERLAP, lg_arena_open(arena, one, LG_READ));
    NOTHING(LG_E_ARGUMENT, lg_arena_open(arena, one, (lg_rights)2));
    void *for_one = in_one + ((char *)block - here), *for_two = in_two + ((char *)block - here);
    CHECK(lg_arena_pointer(one, block, 100, LG_READ) == for_one);
    CHECK(lg_arena_pointer(two, block, 100, LG_READ_WRITE) == for_two);
    CHECK((uint32_t)(uintptr_t)for_one == (uint32_t)(uintptr_t)for_two);
    CHECK(reads(one, for_one, 41) == 0 && reads(two, for_two, 41) == 0);
    CHECK(writes(two, for_two, 42) == 0 && block[0] == 42);
    CHECK(writes(one, for_one, 43) == LG_E_FAULT && block[0] == 42);
    NOTHING(LG_E_UPGRADE, lg_arena_pointer(one, block, 4, LG_READ_WRITE));

    /* Pointers that are none. */
    CHECK(lg_arena_pointer(one, (char *)block + 96, 4, LG_READ) == (char *)for_one + 96);
    NOTHING(LG_E_RANGE, lg_arena_pointer(one, block, 101, LG_READ));
    NOTHING(LG_E_RANGE, lg_arena_pointer(one, (char *)block + 99, 2, LG_READ));
    NOTHING(LG_E_RANGE, lg_arena_pointer(one, (char *)block + 1, SIZE_MAX, LG_READ));
    NOTHING(LG_E_BLOCK, lg_arena_pointer(one, (char *)block + 100, 1, LG_READ));
    NOTHING(LG_E_BLOCK, lg_arena_pointer(one, here + 12287, 1, LG_READ));
    NOTHING(LG_E_NOT_ARENA, lg_arena_pointer(one, here + 12288, 1, LG_READ));
    NOTHING(LG_E_NOT_ARENA, lg_arena_pointer(one, &arena, 1, LG_READ));
    NOTHING(LG_E_NOT_ARENA, lg_arena_pointer(one, NULL, 1, LG_READ));
    void *foreign = lg_arena_alloc(other, 10);
    NOTHING(LG_E_NOT_OPEN, lg_arena_pointer(one, foreign, 10, LG_READ));

    /* Sizes and alignments. */
    NOTHING(LG_E_EMPTY, lg_arena_alloc(arena, 0));
    NOTHING(LG_E_ARENA_FULL, lg_arena_alloc(arena, 12288));
    NOTHING(LG_E_ARENA_FULL, lg_arena_alloc(arena, (size_t)1 << 63));
    NOTHING(LG_E_ARENA_FULL, lg_arena_alloc(arena, SIZE_MAX));
    NOTHING(LG_E_ARGUMENT, lg_arena_alloc_aligned(arena, 8, 0));
    NOTHING(LG_E_ARGUMENT, lg_arena_alloc_aligned(arena, 8, 24));
    NOTHING(LG_E_ARGUMENT, lg_arena_alloc_aligned(arena, 8, 8192));
    void *page = lg_arena_alloc_aligned(arena, 8, 4096);
    CHECK(page && (uintptr_t)page % 4096 == 0);

    /* Freed once, by the arena that it is of. */
    STATUS(LG_E_BLOCK, lg_arena_free(other, block));
    STATUS(LG_E_BLOCK, lg_arena_free(arena, foreign));
    STATUS(LG_E_BLOCK, lg_arena_free(arena, (char *)block + 64));
    STATUS(LG_E_BLOCK, lg_arena_free(arena, &arena));
    STATUS(LG_OK, lg_arena_free(arena, NULL));
    STATUS(LG_OK, lg_arena_free(arena, block));
    STATUS(LG_E_BLOCK, lg_arena_free(arena, block));
    NOTHING(LG_E_BLOCK, lg_arena_pointer(one, block, 4, LG_READ));
    /* What the domain does there now is done to memory of the arena. */
    CHECK(writes(two, for_two, 44) == 0);
    STATUS(LG_OK, lg_arena_free(arena, page));
    CHECK(lg_arena_room(arena) == 12288);
    void *all = lg_arena_alloc(arena, 12288);
    CHECK(all == here);
    NOTHING(LG_E_ARENA_FULL, lg_arena_alloc(arena, 1));
    STATUS(LG_OK, lg_arena_reset(arena));
    STATUS(LG_E_BLOCK, lg_arena_free(arena, all));
    CHECK(lg_arena_room(arena) == 12288);

    /* By copy. */
    lg_region *region = lg_arena_region(arena);
    int copy;
    STATUS(LG_OK, lg_region_read(region, &copy, (uint64_t)((char *)block - here), sizeof copy));
    CHECK(copy == 44);
    STATUS(LG_OK, lg_region_free(region));

    /* It ends for one domain, when that is reset, and for all. */
    block = (int *)lg_arena_alloc(arena, 100);
    STATUS(LG_OK, lg_arena_shut(arena, one));
    CHECK(reads(one, for_one, 0) == LG_E_FAULT);
    NOTHING(LG_E_NOT_OPEN, lg_arena_pointer(one, block, 4, LG_READ));
    STATUS(LG_E_NOT_OPEN, lg_arena_shut(arena, one));
    CHECK(reads(two, for_two, 44) == 0);
    CHECK(lg_arena_open(arena, one, LG_READ) == in_one);
    CHECK(reads(one, for_one, 44) == 0);
    lg_domain *third = new_domain(module, NULL);
    CHECK(lg_arena_open(arena, third, LG_READ));
    STATUS(LG_OK, lg_domain_reset(third));
    NOTHING(LG_E_GRANT_REVOKED, lg_arena_pointer(third, block, 4, LG_READ));
    CHECK(lg_arena_open(arena, third, LG_READ) && lg_arena_pointer(third, block, 4, LG_READ));
    STATUS(LG_OK, lg_arena_close(arena));
    CHECK(reads(one, for_one, 0) == LG_E_FAULT && writes(two, for_two, 1) == LG_E_FAULT);
    NOTHING(LG_E_NOT_ARENA, lg_arena_pointer(two, block, 4, LG_READ));
    STATUS(LG_E_HANDLE, lg_arena_close(arena));
    STATUS(LG_OK, lg_arena_close(NULL));
    STATUS(LG_E_HANDLE, lg_arena_free(arena, block));
    STATUS(LG_E_HANDLE, lg_arena_reset(arena));
    STATUS(LG_E_HANDLE, lg_arena_shut(arena, one));
    NOTHING(LG_E_HANDLE, lg_arena_alloc(arena, 1));
    NOTHING(LG_E_HANDLE, lg_arena_alloc_aligned((lg_arena *)(void *)one, 1, 1));
    NOTHING(LG_E_HANDLE, lg_arena_room(arena));
    NOTHING(LG_E_HANDLE, lg_arena_address(arena));
    NOTHING(LG_E_HANDLE, lg_arena_region(arena));
    NOTHING(LG_E_HANDLE, lg_arena_open(arena, one, LG_READ));
    /* A new one at the same handle's place is not the thread's last. */
    lg_arena *next = lg_arena_new(4096);
    CHECK(next && next != arena && lg_arena_alloc(next, 1) && lg_arena_alloc(other, 1));
    NOTHING(LG_E_HANDLE, lg_arena_alloc(arena, 1));
    STATUS(LG_OK, lg_arena_close(next));
    STATUS(LG_OK, lg_arena_close(other));
}

static lg_arena *common;

/* Blocks of different threads have no byte in common. */
static void *allocate(void *number) {
    unsigned char mine = (unsigned char)(uintptr_t)number;
    unsigned char *blocks[16] = {0};
    size_t sizes[16] = {0};
    unsigned state = mine;
    for (int i = 0; i < 20000; i++) {
        state = state * 1103515245u + 12345u;
        unsigned slot = state >> 16 & 15;
        if (blocks[slot]) {
            for (size_t at = 0; at < sizes[slot]; at++)
                CHECK(blocks[slot][at] == mine);
            STATUS(LG_OK, lg_arena_free(common, blocks[slot]));
            blocks[slot] = NULL;
        } else {
            sizes[slot] = 1 + (state >> 20 & 255);
            blocks[slot] = (unsigned char *)lg_arena_alloc(common, sizes[slot]);
            CHECK(blocks[slot]);
            memset(blocks[slot], mine, sizes[slot]);
        }
    }
    for (int slot = 0; slot < 16; slot++)
        STATUS(LG_OK, lg_arena_free(common, blocks[slot]));
    return NULL;
}

static void from_threads(void) {
    pthread_t threads[4];
    common = lg_arena_new(1 << 20);
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, allocate, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(lg_arena_room(common) == 1 << 20);
}

/* A child has no arena of its parent's, and takes nothing away from it. */
static void in_a_child(void) {
    lg_domain *domain = new_domain(module, NULL);
    char *inside = (char *)lg_arena_open(common, domain, LG_READ);
    int *block = (int *)lg_arena_alloc(common, 4);
    *block = 7;
    pid_t child = fork();
    if (child == 0) {
        NOTHING(LG_E_FORKED, lg_arena_alloc(common, 4));
        NOTHING(LG_E_FORKED, lg_arena_room(common));
        STATUS(LG_E_FORKED, lg_arena_free(common, block));
        STATUS(LG_E_FORKED, lg_arena_reset(common));
        lg_domain *own = new_domain(module, NULL);
        NOTHING(LG_E_FORKED, lg_arena_open(common, own, LG_READ));
        NOTHING(LG_E_NOT_ARENA, lg_arena_pointer(own, block, 4, LG_READ));
        lg_arena *arena = lg_arena_new(4096);
        int *mine = (int *)lg_arena_alloc(arena, 4);
        *mine = 8;
        CHECK(lg_arena_open(arena, own, LG_READ));
        CHECK(reads(own, lg_arena_pointer(own, mine, 4, LG_READ), 8) == 0);
        STATUS(LG_OK, lg_arena_close(common));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(reads(domain, inside + ((char *)block - (char *)lg_arena_address(common)), 7) == 0);
    STATUS(LG_OK, lg_arena_free(common, block));
    STATUS(LG_OK, lg_arena_close(common));
}

static jmp_buf back;
static lg_region *region;
static lg_domain *victim;
static lg_grant *inner;
static int (*note_by_victim)(const char *);
static int (*note_last)(long, long, long, long, long, long, long, const char *);
static int mode;
static char *alternate;
enum { ALTERNATE = 256 << 10 };

/* A handler may lend nothing. */
static void in_handler(int number) {
    (void)number;
    NOTHING(LG_E_SIGNAL_HANDLER, lg_lend(victim, region, LG_READ));
}

/* Raises a signal on an alternate stack of the program's own, which sigaltstack() refuses in a call. */
static void raises(void) {
    stack_t own, before;
    struct sigaction action;
    memset(&own, 0, sizeof own);
    memset(&action, 0, sizeof action);
    own.ss_sp = alternate;
    own.ss_size = ALTERNATE;
    action.sa_handler = in_handler;
    action.sa_flags = SA_ONSTACK;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaltstack(&own, NULL) == -1);
    CHECK(syscall(SYS_sigaltstack, &own, &before) == 0);
    raise(SIGUSR1);
    CHECK(syscall(SYS_sigaltstack, &before, NULL) == 0);
}

/* The host's function that domains call. */
static void note(const char *text) {
    (void)text;
    if (mode == 1)
        longjmp(back, 1);
    if (mode == 2) {
        /* Lends something itself, for a call that is left together with the one that it is in. */
        lg_region *more = lg_region_new(4096);
        inner = lg_lend(victim, more, LG_READ);
        CHECK(inner && lg_region_free(more) == LG_OK);
        mode = 1;
        note_by_victim("");
        CHECK(!"back from a jump");
    }
    if (mode == 3)
        pthread_exit(NULL);
    if (mode == 4)
        raises();
}

/* The alternate stack is an array further out than the frames of the calls: by its address, the handler's frame has outlived them. */
static void lends_in_a_handler(void) {
    char array[ALTERNATE];
    alternate = array;
    mode = 4;
    note_by_victim("");
    mode = 0;
    STATUS(LG_OK, lg_take_call_error());
}

static void *leaves(void *handle) {
    lg_grant *lent = lg_lend(victim, region, LG_READ);
    CHECK(lent);
    *(lg_grant **)handle = lent;
    note_by_victim("");
    CHECK(!"back from the thread's end");
    return NULL;
}

/* Makes no call at all. */
static void *forgets(void *handle) {
    *(lg_grant **)handle = lg_lend(victim, region, LG_READ);
    return NULL;
}

/* A jump beneath a function that has lent something: the function goes on. */
__attribute__((noinline)) static void jumps_by_itself(void) {
    mode = 1;
    if (setjmp(back) == 0)
        note_by_victim("");
    mode = 0;
}

/* Lends something, and is left by a jump out of a call of a function that it calls. */
__attribute__((noinline)) static void calls_and_is_left(void) {
    note_by_victim("");
}

__attribute__((noinline)) static void lends_and_is_left(void) {
    inner = lg_lend(victim, region, LG_READ);
    CHECK(inner);
    mode = 1;
    calls_and_is_left();
    CHECK(!"back from a jump");
}

/* Calls from a frame far below. */
__attribute__((noinline)) static int reads_deeply(int (*read_int)(const int *), int *at) {
    volatile char room[64 << 10];
    room[0] = 0;
    int value = read_int(at) + room[0];
    lg_take_call_error();
    return value;
}

static void lent_by_whom(int *at, int (*read_int)(const int *)) {
    lg_grant *grant = lg_lend(victim, region, LG_READ);
    CHECK(lg_grant_pointer(grant, 0) == at);
    jumps_by_itself();
    for (int round = 0; round < 3; round++)
        CHECK(read_int(at) == 7 && reads_deeply(read_int, at) == 7);
    jumps_by_itself();
    NOTHING(LG_E_OVERLAP, lg_lend(victim, region, LG_READ));
    CHECK(read_int(at) == 7);
    STATUS(LG_OK, lg_grant_free(grant));
    read_int(at);
    FAILED(LG_E_FAULT);

    if (setjmp(back) == 0)
        lends_and_is_left();
    mode = 0;
    /* A deeper frame cannot tell; its caller's can. */
    reads_deeply(read_int, at);
    read_int(at);
    FAILED(LG_E_FAULT);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(inner));
    STATUS(LG_OK, lg_grant_free(inner));
    for (int round = 0; round < 3; round++) {
        grant = lg_lend(victim, region, LG_READ);
        CHECK(read_int(at) == 7 && lg_grant_free(grant) == LG_OK);
    }
}

static void lent(void) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_gate(options, "void host_note(const char *)", (lg_code)note, NULL));
    victim = new_domain(module, options);
    lg_domain *other = new_domain(module, NULL);
    region = lg_region_new(4096);
    STATUS(LG_OK, lg_region_write(region, 0, "\7\0\0\0", 4));
    note_by_victim = POINTER(int (*)(const char *), bind(victim, "note"));
    note_last = POINTER(int (*)(long, long, long, long, long, long, long, const char *),
                        bind(victim, "int note_last(long, long, long, long, long, long, long, const char *)"));
    int (*read_int)(const int *) = POINTER(int (*)(const int *), bind(victim, "read_int"));
    int (*read_other)(const int *) = POINTER(int (*)(const int *), bind(other, "read_int"));

    NOTHING(LG_E_HANDLE, lg_lend(NULL, region, LG_READ));
    NOTHING(LG_E_HANDLE, lg_lend(victim, NULL, LG_READ));
    NOTHING(LG_E_ARGUMENT, lg_lend(victim, region, (lg_rights)0));

    /* The plain case; and a fault, which ends nothing but the call. */
    lg_grant *grant = lg_lend(victim, region, LG_READ);
    int *at = (int *)lg_grant_pointer(grant, 0);
    CHECK(reads(victim, at, 7) == 0 && writes(victim, at, 1) == LG_E_FAULT);
    NOTHING(LG_E_OVERLAP, lg_lend(victim, region, LG_READ));
    lg_grant *onward = lg_grant_pass_on(grant, other, LG_READ);
    int *there = (int *)lg_grant_pointer(onward, 0);
    CHECK(reads(other, there, 7) == 0);
    STATUS(LG_OK, lg_grant_free(grant));
    CHECK(reads(victim, at, 0) == LG_E_FAULT && reads(other, there, 0) == LG_E_FAULT);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_pointer(onward, 0));

    /* A jump leaves the call, and the program forgets what it has lent: the thread's next call ends it, whichever domain's that is, and
     * whatever arguments the call has had. */
    for (int round = 0; round < 4; round++) {
        grant = lg_lend(victim, region, LG_READ);
        CHECK(grant);
        mode = 1;
        if (setjmp(back) == 0) {
            if (round == 3)
                note_last(1, 2, 3, 4, 5, 6, 7, "");
            else
                note_by_victim("");
        }
        mode = 0;
        (round < 2 ? read_int : read_other)(at);
        FAILED(LG_E_FAULT);
        NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(grant));
        STATUS(LG_OK, lg_grant_free(grant));
    }

    /* Or what it lends next does, which is not taken for what was left. */
    grant = lg_lend(victim, region, LG_READ);
    mode = 1;
    if (setjmp(back) == 0)
        note_by_victim("");
    mode = 0;
    lg_grant *again = lg_lend(victim, region, LG_READ);
    CHECK(again);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(grant));
    CHECK(reads(victim, lg_grant_pointer(again, 0), 7) == 0 && reads(victim, lg_grant_pointer(again, 0), 7) == 0);
    STATUS(LG_OK, lg_grant_free(again));
    STATUS(LG_OK, lg_grant_free(grant));

    lent_by_whom(at, read_int);

    lends_in_a_handler();

    /* Two calls deep; both are left. */
    grant = lg_lend(victim, region, LG_READ);
    mode = 2;
    if (setjmp(back) == 0)
        note_by_victim("");
    mode = 0;
    read_other(there);
    FAILED(LG_E_FAULT);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(inner));
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(grant));

    /* The thread ends in the call. */
    pthread_t thread;
    lg_grant *of_thread = NULL;
    mode = 3;
    CHECK(pthread_create(&thread, NULL, leaves, &of_thread) == 0 && pthread_join(thread, NULL) == 0);
    mode = 0;
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(of_thread));
    of_thread = NULL;
    CHECK(pthread_create(&thread, NULL, forgets, &of_thread) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(of_thread);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(of_thread));
    read_int(at);
    FAILED(LG_E_FAULT);
}

int main(void) {
    module = open_module("guest.lg");
    arenas();
    from_threads();
    in_a_child();
    lent();
    return 0;
}
