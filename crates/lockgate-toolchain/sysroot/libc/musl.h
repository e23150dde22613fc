/* What the sysroot's own members use of musl's inside: the names are in libc.a, but in no header.
   The layouts are those of musl 1.2.2 to 1.2.5 on x86-64 (src/internal/{libc,pthread_impl,stdio_impl}.h, include/bits);
   the driver refuses to build the sysroot from any other version. Only leading members are declared. */
#ifndef LOCKGATE_MUSL_H
#define LOCKGATE_MUSL_H

#include <features.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define hidden __attribute__((visibility("hidden")))

/* src/internal/libc.h */
struct lg_libc {
    char can_do_threads;
    char threaded;
    char secure;
    volatile signed char need_locks;
    int threads_minus_1;
    size_t *auxv;
    void *tls_head;
    size_t tls_size, tls_align, tls_cnt;
};
extern hidden struct lg_libc __libc;

/* src/internal/pthread_impl.h */
struct lg_pthread {
    struct lg_pthread *self;
    uintptr_t *dtv;
    struct lg_pthread *prev, *next;
    uintptr_t sysinfo;
    uintptr_t canary;
    int tid;
    int errno_value;
    int detach_state;
    volatile int cancel;
    volatile unsigned char canceldisable, cancelasync;
    unsigned char tsd_used : 1;
    unsigned char dlerror_flag : 1;
    unsigned char *map_base;
    size_t map_size;
    void *stack;
    size_t stack_size;
    size_t guard_size;
    void *result;
    void *cancelbuf;
    void **tsd;
    struct {
        volatile void *volatile head;
        long offset;
        volatile void *volatile pending;
    } robust_list;
    int h_errno_value;
    volatile int timer_id;
    void *locale;
    volatile int killlock[1];
    char *dlerror_buf;
    void *stdio_locks;
};

/* src/internal/libc.h: an element of __libc.tls_head. */
struct lg_tls {
    struct lg_tls *next;
    void *image;
    size_t len, size, align, offset;
};

/* Of a thread's detach_state. */
#define LG_EXITED 0
#define LG_JOINABLE 2
#define LG_DETACHED 3

/* What a thread of the module needs to begin: __clone writes it, _lg_thread_start reads it (libc/process.c). */
struct lg_start {
    int (*function)(void *);
    void *argument;
    void *thread_pointer;
    /* The signals that it blocks. It begins with all blocked: no handler comes before it has its thread pointer. */
    uint64_t mask;
};

/* pthread_mutex_t: include/alltypes.h.in, src/internal/pthread_impl.h */
struct lg_mutex {
    int type;
    volatile int word;
    volatile int waiters;
    int unused[2];
    int count;
    /* Of the list of a thread's robust mutexes: where the link to this one is, and the next one's `next`, or the list's head. */
    volatile void *volatile *previous;
    volatile void *volatile next;
};

/* pthread_rwlock_t */
struct lg_rwlock {
    volatile int word;
    volatile int waiters;
};

/* src/internal/stdio_impl.h */
struct lg_file {
    unsigned flags;
    unsigned char *rpos, *rend;
    int (*close)(FILE *);
    unsigned char *wend, *wpos, *mustbezero_1, *wbase;
    size_t (*read)(FILE *, unsigned char *, size_t);
    size_t (*write)(FILE *, const unsigned char *, size_t);
    off_t (*seek)(FILE *, off_t, int);
    unsigned char *buf;
    size_t buf_size;
    FILE *prev, *next;
    int fd;
    int pipe_pid;
    long lockcount;
    int mode;
    volatile int lock;
};

hidden void *__libc_malloc_impl(size_t);
hidden void *__libc_calloc(size_t, size_t);
hidden void __libc_free(void *);
hidden void *__libc_realloc(void *, size_t);
/* musl's malloc_usable_size, which knows its own allocator's blocks. */
hidden size_t __lg_usable_size(void *);
hidden void __init_libc(char **environment, char *program);
hidden void __libc_start_init(void);
hidden void *__copy_tls(unsigned char *memory);
hidden int __init_tp(void *pthread);
hidden int __set_thread_area(void *thread_pointer);
hidden void __lock(volatile int *);
hidden void __unlock(volatile int *);
hidden int __lockfile(FILE *);
hidden void __unlockfile(FILE *);
extern hidden volatile int __thread_list_lock;
hidden void __tl_lock(void);
hidden void __tl_unlock(void);
/* src/thread/vmlock.c, in modules that have it; a weak one of fork's is null. */
extern hidden volatile int *const __vmlock_lockptr __attribute__((weak));
/* src/signal/block.c: all signals there are, and what was blocked before, 8 bytes. */
hidden void __block_all_sigs(void *before);
hidden void __restore_sigs(void *before);
hidden void __pthread_tsd_run_dtors(void);
hidden void __do_orphaned_stdio_locks(void);
hidden void __dl_thread_cleanup(void);
hidden void __funcs_on_exit(void);
hidden void __stdio_exit(void);
extern hidden volatile size_t __pthread_tsd_size;
extern hidden FILE *volatile __stdin_used, *volatile __stdout_used, *volatile __stderr_used;

static inline struct lg_pthread *lg_self(void) {
    struct lg_pthread *self;
    __asm__("mov %%fs:0,%0" : "=r"(self));
    return self;
}

#endif
