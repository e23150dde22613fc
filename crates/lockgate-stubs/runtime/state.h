/* The part of client libraries that `lockgate stubs` does not generate: every client contains a copy of its own.
 *
 * Five kinds of memory:
 *   the window     the domain's; the host reads and writes it by copies that survive faults (lgs_read, lgs_write)
 *   the stage      regions of the host that the domain has, too: what goes in is copied there (lgs_put), what comes back is
 *                  copied from there, once (lgs_fetch)
 *   the mirrors    host memory, as large as the window, one for each thread: what the library gives out is copied to the same
 *                  offset. They hold bytes only, and no expression speaks of them: later calls of the thread copy over them
 *   the pieces     of the program's heap: what it owns until it gives it back, or fills (piece.h)
 *   the handles    host memory, zeros: a handle is an address there, so that nothing is found behind it, and its place says which life it is (scope.h)
 * Copies that contain pointers of the host (arrays of strings, structures) are in none of these, but in memory of their
 * own, by address and type: the library can put nothing else over them.
 */
#include <errno.h>
#include <fcntl.h>
#include <lockgate.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "lockgate_stubs.h"

/* (The header may have included these before, and then they say nothing more.) */
#undef bool
#define bool _Bool
#undef true
#define true 1
#undef false
#define false 0
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)

/* (Declared for programs of GNU only, but there for all.) */
extern int pthread_getattr_np(pthread_t, pthread_attr_t *);
extern long syscall(long, ...);
#define LGS_SIGALTSTACK 131
#define LGS_ON_STACK 1

/* What C99 has no words for, and -pedantic may not complain of. */
__extension__ typedef __int128 lgs_wide;
#define LGS_NO_RETURN __attribute__((__noreturn__))
/* As malloc aligns: enough for every type (max_align_t). */
#define LGS_ALIGNMENT ((size_t)16)

/* A type is for the compiler of this file what it was for the generator, which has counted the bytes that are copied. */
#define LGS_AS_READ(name, condition) \
    __extension__ _Static_assert(condition, name " is another type than `lockgate stubs` has read: " \
                                   "give it the macros (-D) that this file is compiled with, and no option that changes types (-fshort-enums, -fpack-struct)")

/* The same of the type of a function or a field, whatever names of types it is written with: another number, another structure, what pointers lead to. */
#define LGS_DECLARED_AS_READ(name, type, ...) \
    __extension__ _Static_assert(__builtin_types_compatible_p(type, __VA_ARGS__), name " is declared with other types than `lockgate stubs` has read: " \
                                   "give it the macros (-D) that this file is compiled with")

/* The same of a number in an annotation's expression. */
#define LGS_NUMBER_AS_READ(name, condition) \
    __extension__ _Static_assert(condition, name " is another number than `lockgate stubs` has read: give it the macros (-D) that this file is compiled with")

/* What the declaration of a function promises to this compiler, the generator has seen: the program's compiler goes by it. (Others than gcc have no word for the
 * question; libclang reads as clang does.) */
#if defined __GNUC__ && __GNUC__ >= 9 && !defined __clang__
#define LGS_HAS(function, attribute) __builtin_has_attribute(function, attribute)
#else
#define LGS_HAS(function, attribute) 0
#endif
#define LGS_PROMISED(name, attribute, condition) \
    __extension__ _Static_assert(condition, name " is declared " attribute " here, and `lockgate stubs` has not read that: " \
                                   "declare it so in a file of annotations, too, or give the macros (-D) that this file is compiled with")
#define LGS_PROMISES(name, function, noreturn_, nonnull_, aligned_, silent_)                                                                                 \
    LGS_PROMISED(name, "noreturn", noreturn_ || !LGS_HAS(function, __noreturn__));                                                                               \
    LGS_PROMISED(name, "returns_nonnull", nonnull_ || !LGS_HAS(function, __returns_nonnull__));                                                                  \
    LGS_PROMISED(name, "assume_aligned or alloc_align", aligned_ || !(LGS_HAS(function, __assume_aligned__) || LGS_HAS(function, __alloc_align__)));                 \
    LGS_PROMISED(name, "format_arg", !LGS_HAS(function, __format_arg__));                                                                                        \
    LGS_PROMISED(name, "naked, constructor or the like",                                                                                                        \
                 !(LGS_HAS(function, __naked__) || LGS_HAS(function, __constructor__) || LGS_HAS(function, __destructor__) ||                                   \
                   LGS_HAS(function, __interrupt__) || LGS_HAS(function, __no_caller_saved_registers__)));                                                      \
    LGS_PROMISED(name, "pure, const or leaf", silent_ || !(LGS_HAS(function, __pure__) || LGS_HAS(function, __const__) || LGS_HAS(function, __leaf__)))

enum { LGS_READS = 1, LGS_WRITES = 2, LGS_NULLABLE = 4, LGS_TEXT = 8, LGS_SHAREABLE = 16, LGS_GIVEN = 32, LGS_PAIRS = 64, LGS_ZEROS = 128 };

/* The buffers in a structure of the program's: left alone (by a call that says itself that it has failed), passed; or the structure is the library's. */
enum { LGS_LEFT, LGS_FAILED, LGS_PASSED, LGS_SHOWN };

/* Not a pointer: it stands where the library is to set one, and has not yet. */
#define LGS_UNSET ((uint64_t)1)
/* Neither: it stands in the place of a buffer's address in one of several structures of a type, which the library may copy one over another. */
#define LGS_BUFFER_OF(parameter) ((uint64_t)2 + (parameter))

#define LGS_WINDOW ((size_t)1 << 32)
#define LGS_BLOCKS 24
#define LGS_AT_ONCE 512
#define LGS_DEPTH 64
/* Most callbacks that one pointer of the program's comes with. */
#define LGS_SHARERS 8
/* Tokens in a chunk, and chunks. */
#define LGS_TOKENS 1024
#define LGS_CHUNKS ((size_t)1 << 16)
/* The first block of a thread's stage; each further one is twice as large. */
#define LGS_STAGE ((size_t)256 << 10)
/* A thread's own room; what it has no more room for comes from the heap, and so does all where a sanitizer is to know each piece. */
#define LGS_OWN ((size_t)64 << 10)
#ifdef __SANITIZE_ADDRESS__
#define LGS_SANITIZED 1
#else
#define LGS_SANITIZED 0
#endif
/* Longer strings of the library's are refused. */
#define LGS_STRING ((size_t)1 << 30)
/* Copies of one call are looked at once for so many bytes, of which each copy counts some more than it has. */
#define LGS_PAUSE ((size_t)1 << 20)
#define LGS_COPY ((size_t)64)
/* Most handles at a time, and the distance between two. */
#define LGS_HANDLES ((size_t)1 << 24)
#define LGS_HANDLE ((size_t)64)
/* Handles lie at multiples of this in the library: structures of int are aligned so. */
#define LGS_STEP 4
/* A place that has become free is not taken again before so many others. */
#define LGS_RESTS 256
/* Nor a mirror whose thread has ended. */
#define LGS_MIRRORS 64
/* Most bytes of structures and arrays that are copied out and stay. */
#define LGS_OBJECTS ((size_t)64 << 20)

/* ---- what the generated part says of the library -------------------------------------------------------------------- */

struct lgs_function {
    const char *name;
    const char *prototype;
    lg_policy policy;
};

/* What the domain really calls: by type, and by name. */
struct lgs_trampoline {
    const char *name;
    const char *prototype;
    lg_code code;
};

static const struct lgs_trampoline *const lgs_trampolines, *const lgs_gates;

static const char lgs_name[] = LGS_NAME;
static const char *const lgs_options[] = {LGS_OPTIONS};
static const struct lgs_function lgs_functions[] = {LGS_FUNCTIONS};
enum { LGS_FUNCTION_COUNT = sizeof lgs_functions / sizeof *lgs_functions };

/* ---- state --------------------------------------------------------------------------------------------------------- */

/* A structure of the program's that the library remembers, and the library's copy. */
struct lgs_kept {
    const void *host;
    unsigned type;
    struct lgs_far *stage;
    uint64_t inside;
    size_t size;
    unsigned generation; /* of the domain */
    struct lgs_kept *next;
    unsigned calls;        /* that have it, */
    bool ended;            /* and the library has it only as long as these: it is in no list */
    bool known;            /* program and library have agreed on numbers: */
    unsigned char agreed[]; /* the program's structure then. What the program has by now and not there goes in, what the library has and not there comes out */
};

/* What is in it: a structure, by its number from 1, or one of these. Two readings of one address are two objects. */
#define LGS_BYTES (~0u)
#define LGS_BOOLS (~1u)
#define LGS_TEXT_ALONE (~2u)
#define LGS_TEXTS (~3u)
#define LGS_TEXTS_WITH_HOLES (~4u)
#define LGS_OF_HANDLES (1u << 30) /* and their type */

/* Something with pointers that the library gave out. */
struct lgs_object {
    const void *mirror; /* of the thread that it was given to */
    uint64_t address;
    unsigned type;
    size_t size;
    struct lgs_object *next;
    void *bytes;
};

/* A function of the program's that the library may call. */
struct lgs_callback {
    lg_callback *made;
    void (*function)(void);
    unsigned type;
    bool bound; /* its user data comes with it: it gets no other */
    uint64_t inside; /* as the library knows it */
    struct lgs_callback *next;
};

/* A pointer of the program's. */
struct lgs_token {
    uint64_t number; /* as the library knows it; 0: free */
    void *data;
    void (*function)(void); /* the callback that it came with, or null */
    void (*others[LGS_SHARERS - 1])(void); /* and more of them */
    const char *by;         /* the function that it was given to */
    const char *field;      /* the structure's field that it was given in, or null */
    uint64_t handle;        /* the handle that it was given for */
    uint64_t key;           /* by which it is found: that handle, or, of null, its family */
    uint64_t call;          /* or the call; neither of them: for good (LG_KEPT) */
    uint32_t round;         /* how often it was given */
    bool brief;             /* for the call, whatever handle that makes */
    size_t next;            /* in its bucket, or in the list of free ones, from 1 */
    size_t sibling;         /* given for the same handle or call */
};

/* The life of a handle: what the program gives or hears with it ends with it. (The life of a call is its struct lgs_mark.) */
struct lgs_scope {
    uint64_t inside;         /* the handle, as the library knows it */
    uint64_t family;         /* of the handle by which it was made, and of all that were; 0: the program has given nothing for it */
    size_t data;             /* given for it: the first place, from 1 */
    struct lgs_told *told;
    struct lgs_jump *jumps;
    struct lgs_lent *lent;
    struct lgs_kept *kept;   /* structures that the library remembers as long */
    uint64_t shown;          /* the handle in whose call the library showed it, if the program has given nothing for it */
    unsigned users;          /* callbacks in progress that have something of it while the call is another handle's */
    uint32_t next;           /* in the list of free ones */
    uint32_t type;           /* of the handle; 0: it is none any more */
    bool itself;             /* what handlers get is the handle, no data */
    bool alone;              /* the program has given data alone for it, or for the one that made it */
    bool held;               /* ended with its domain; the program has not let go of it */
    bool ending;             /* a call that is to end it is in progress */
    bool let_go;             /* such a call has said by its result that the library may have it still: the library may give its address anew, and then has not */
    unsigned changing;       /* calls in progress that may change it: they take it without const */
    uint64_t changes;        /* and how many there were */
};

/* A handle that a call has claimed, and by which number of a family that is not yet its own. */
struct lgs_made {
    size_t place; /* 0: none */
    uint64_t family;
};

/* Host memory as large as the window, for copies of what the library gives to one thread. */
struct lgs_mirror {
    char *at;
    uint64_t ended; /* which of them its thread was that ended; 0: it lives */
    struct lgs_mirror *next;
};

/* Memory of the library's that the program fills, and the next that is lent for the same handle. */
struct lgs_lent {
    struct lgs_piece *piece;
    size_t size;
    bool out; /* it has not gone back */
    struct lgs_lent *next;
};

/* What the program has heard of a handle. */
struct lgs_told {
    unsigned place;
    bool heard;      /* by the last call of the function: it has succeeded */
    uint64_t thread; /* which heard it, or 0: several */
    lgs_wide value;
    uint64_t question; /* to which the library gave `answer`, if nothing else could change that (told.h); 0: none */
    lgs_wide answer;
    struct lgs_told *next;
};

/* longjmp, or what the program has in its place. */
typedef void (*lgs_jumper)(jmp_buf, int);

/* The jmp_buf of the program's for a handle, and what the library has in its place. */
struct lgs_jump {
    uint64_t inside;
    lgs_jumper function;
    jmp_buf env;
};

/* A stream of the library's, and the program's that it leads to. */
struct lgs_open {
    FILE *file;          /* null: to none */
    uint64_t handle;     /* kept as long as this lives, or (0) for good */
    bool kept;           /* after the call, too */
    unsigned calls;      /* in progress that were given it */
    bool stuck;          /* a call ended within it, or was left: the library's lock on it may be held for good */
    uint64_t cookie;     /* of one `inside` */
    uint64_t inside;
    size_t read;         /* by the library, since it last gave back what it does not need */
    bool ends;           /* the next read says that the file ends: the program's stream does so already */
    bool told;           /* the library's stream has had an indicator of the program's */
    struct lgs_open *next;
};

/* Memory that the program and the library share. */
struct lgs_shared {
    /* Odd while the place is being written: calls read it without the lock. */
    unsigned version;
    char *here;
    uint64_t inside;
    size_t size;
    bool writable;
    lg_grant *grant;
    /* Or it is an arena's: with its region, so that nothing else comes to its place. */
    lg_arena *arena;
    lg_region *region;
};

#define LGS_SHARES 256
#define LGS_BUCKETS 256

/* What a restart could not free, because a callback of the program's was in progress. */
struct lgs_retired {
    lg_function *functions[LGS_FUNCTION_COUNT + 2]; /* as below */
    struct lgs_callback *callbacks[LGS_BUCKETS];
    struct lgs_retired *next;
};

/* On a page that the kernel empties in every child, whatever system call makes it. */
struct lgs_process {
    bool settled;   /* the domain is made, is this process's, and never restarts */
    unsigned state; /* 0: the client has not noticed yet that this is a child */
};
enum { LGS_NOTICING = 1, LGS_NOTICED };

static struct lgs_process lgs_unmade;
static struct lgs_process *lgs_process = &lgs_unmade;

static struct {
    lg_module *module;
    lg_options *options;
    lg_domain *domain;
    bool broken;         /* there was a fault, and the domain restarts */
    unsigned generation; /* of the domain: which one it is */
    uint64_t window;
    uint64_t time_limit; /* milliseconds, or 0 */
    uint64_t memory_limit; /* bytes */
    struct lgs_mirror *mirrors;
    uint64_t ends; /* of threads that had one */
    void *pieces; /* a tree */
    char *handles;
    char *places;              /* as large as the window, for LG_INSIDE without contents: nothing is written there */
    struct lgs_scope *scopes;  /* the first is none */
    size_t scope_count;        /* in use, or free again */
    uint32_t first_free, last_free;
    size_t free_count;
    uint32_t *scope_at;        /* one for each LGS_STEP bytes of the window: of the handle there, or 0 */
    uint64_t births;
    pthread_cond_t left;       /* of scopes, by their users */
    unsigned out;              /* calls of a domain that restarts that are in callbacks */
    struct lgs_retired *retired;
    lg_code targets[LGS_FUNCTION_COUNT];
    lg_function *functions[LGS_FUNCTION_COUNT + 2]; /* the last are for errno_location and free_inside */
    uint64_t (*errno_location)(void);
    void (*free_inside)(uint64_t);
    pthread_mutex_t lock;
    struct lgs_kept *kept[LGS_BUCKETS];
    struct lgs_kept *spare;
    struct lgs_object *objects[LGS_BUCKETS];
    size_t object_bytes;
    struct lgs_callback *callbacks[LGS_BUCKETS];
    struct lgs_kept_region *kept_regions;
    unsigned lent; /* how many */
    struct lgs_shared shared[LGS_SHARES];
    size_t shared_count; /* in use, or free again */
    struct lgs_open *streams;
    bool stuck; /* some of those that are kept, or were */
    struct lgs_token *data[LGS_CHUNKS]; /* in chunks that stay where they are */
    size_t data_count;                  /* in use, or free again */
    size_t data_free;                   /* the first of those that are, from 1 */
    size_t *data_buckets;               /* a power of two of them: places from 1 */
    size_t data_bucket_count, data_used;
    bool alone;                         /* data was given alone, for good */
} lgs = {.memory_limit = 64 << 20 /* a domain's own */, .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static pthread_once_t lgs_once = PTHREAD_ONCE_INIT;

/* Held by calls into a domain that restarts, but not while a callback of the program's runs; and alone by who restarts it. */
static pthread_rwlock_t lgs_running = PTHREAD_RWLOCK_INITIALIZER;

/* A piece of the stage: the same memory here and inside. */
struct lgs_stage {
    lg_region *region;
    lg_grant *grant;
    struct lgs_far *here;
    uint64_t inside;
    size_t size;
};

/* A frame that is in progress, and where its part of the stage begins: what is given for a call ends with it. Calls that put nothing there have none.
 * One that the program has left by longjmp stays until it makes a call that is not deeper: so nothing is concluded from a frame's being here, but by its own. */
struct lgs_mark {
    const struct lgs_call *call;
    uintptr_t frame; /* where its function's begins */
    union lgs_head *owned; /* host memory and what else ends with it */
    size_t data; /* given for it: the first place, from 1 */
    uint64_t serial; /* of the call */
    size_t used;
    size_t own; /* the same of the thread's own room */
    unsigned block;
    bool calls_back; /* it is a callback's, */
    lg_code program; /* and of this function */
    bool out;        /* the program's function runs */
    bool inside;     /* it holds lgs_running */
    unsigned holder; /* which mark, from 1, held lgs_running until the program's function ran, or 0 */
};

static __thread struct {
    struct lgs_stage blocks[LGS_BLOCKS];
    unsigned count;
    unsigned block; /* in use */
    size_t used;    /* of that one */
    char *own;      /* host memory for what is small and ends with a frame: the library cannot reach it */
    size_t own_used;
    struct lgs_mark marks[LGS_DEPTH];
    unsigned depth;
    uintptr_t stack; /* its own, and how large that is */
    size_t stack_size;
    unsigned generation; /* of the blocks */
    bool watched;        /* lgs_leave_thread() is called when it ends */
    bool starts;         /* it makes the domain, or waits for who does */
    struct lgs_lent *lent; /* without a handle */
    struct lgs_piece *gave; /* pieces of its last call that gave some */
    size_t spare;          /* a place for data of a call: most have one */
    bool failed; /* a callback failed: so does the call it came from */
    char *mirror;
    /* Of the call in progress, the innermost: each says so before it begins, and a callback when it ends. */
    uint64_t handle; /* the first among its parameters, or 0 */
    size_t jumps;    /* the place of that to whose jmp_buf it may jump, or 0 */
    bool silent;     /* compilers go by it that it calls back nothing */
    uint64_t call;   /* its number, if something was given for it */
    struct lgs_before *before; /* objects that it has copied in, and will copy back */
    uint64_t serial; /* the last of these numbers: no two calls of the process have the same */
    size_t copied, next_pause;
    uint64_t copying_since; /* milliseconds */
    bool exhausted;
    size_t given; /* bytes of the library's memory that were copied out last */
    const void *filling; /* what a binding fills lent memory with, or null, */
    size_t fills;        /* and how much that is */
    struct lgs_jump *jump; /* the library jumps there when the call has ended */
    struct lgs_jump last;  /* a copy: its handle may end meanwhile */
    int jump_value;
    struct lg_stub_error error;
    bool no_handle; /* and its call was to give a handle */
} lgs_thread;

/* Before memory that ends with a frame, or alone. */
union lgs_head {
    __extension__ struct {
        union lgs_head *next;
        struct lgs_open *stream; /* given until then */
        struct lgs_open *inside_of; /* whose function runs: if it has not returned by then, the library's lock on the stream is held for good */
        bool keeps;              /* and kept for the handle that the call makes, if it makes one */
        struct lgs_scope *scope; /* of which the callback has something */
        struct lgs_kept *kept;   /* for the handle that the call makes */
        struct lgs_kept *in_call; /* until then, */
        const void *with;         /* and what the call has of its buffers, or null */
        void *base;              /* of the allocation */
        const void *piece;       /* that the library ends */
        uint64_t inside;         /* what this is to the library */
        size_t size;
    };
    char aligned __attribute__((aligned(LGS_ALIGNMENT)));
};

static pthread_key_t lgs_key;

/* ---- failures ------------------------------------------------------------------------------------------------------ */

/* Where the function's frame begins: this one's, so who asks is part of that function. */
#define LGS_FRAME ((uintptr_t)__builtin_frame_address(0))

struct lgs_call {
    const char *function;
    uintptr_t frame; /* of the function that makes it */
    bool failed;
    bool overflow;
    bool inside;    /* holds lgs_running, and has no mark that does */
    bool makes;     /* it makes a handle: what is given is for that */
    bool marked;    /* has a mark of its own */
    bool calls_back; /* it is a callback, and what follows is of the call that it came from */
    bool without;    /* the program has passed a null pointer as a handle */
    bool silent;     /* its function is declared to run nothing of the program's (pure, const, leaf): what the program's compiler keeps in registers stays so */
    uint64_t handle; /* the first handle among its parameters */
    size_t jumps;    /* the place of the handle to whose jmp_buf it may jump: an address may be another's by then */
    uint64_t serial; /* its number, if something was given for it */
    struct lgs_before *before; /* objects that it has copied in, and will copy back */
    unsigned generation; /* of the domain that it is in */
};

/* The calling thread's: none has had it before. */
static inline uint64_t lgs_thread_number(void)
{
    static uint32_t threads;
    if (__builtin_expect(!lgs_thread.serial, 0))
        lgs_thread.serial = (uint64_t)__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) << 40;
    return lgs_thread.serial >> 40;
}

/* Its number. */
static inline uint64_t lgs_serial(struct lgs_call *c)
{
    lgs_thread_number();
    if (!c->serial)
        c->serial = ++lgs_thread.serial;
    return c->serial;
}

/* The library's function is called, for this call: nothing of it is called without that, or it would have what the thread's last call was given. */
static inline void lgs_calls_in(const struct lgs_call *c)
{
    if (LGS_CALLS_BACK)
        lgs_thread.before = c->before;
    lgs_thread.handle = c->handle;
    lgs_thread.call = c->serial;
    if (LGS_JUMPS)
        lgs_thread.jumps = c->jumps;
    if (LGS_SILENT)
        lgs_thread.silent = c->silent;
}

static __attribute__((noinline, cold)) void lgs_fail(struct lgs_call *c, enum lg_stub_kind kind, const char *what, const char *reason)
{
    if (c->failed)
        return;
    c->failed = true;
    struct lg_stub_error *error = &lgs_thread.error;
    /* (Why there was no handle is what the program wants to know, not what comes of going on without; but a fault is told.) */
    if (c->without && lgs_thread.no_handle && error->kind && kind != LG_STUB_FAULT)
        return;
    lgs_thread.no_handle = false;
    error->kind = kind;
    error->function = c->function;
    error->what = what;
    snprintf(error->message, sizeof error->message, "%s: %s: %s: %s", lgs_name, c->function, what, reason);
}
