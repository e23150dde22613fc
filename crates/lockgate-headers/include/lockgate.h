/* lockgate.h - call native modules that you do not trust, in your own address space.
 *
 * A *module* is a file that `lockgate cc` has made. The library verifies it when you open it. A
 * *domain* is one instance of a module, confined to memory of its own. You *bind* a function of a
 * domain by its C prototype, get a plain C function pointer, and call that, at a few nanoseconds. A
 * fault in the domain ends that call and nothing else:
 *
 *     lg_module *module = lg_module_open("cube.lg");
 *     lg_domain *domain = lg_domain_new(module, NULL);
 *     lg_function *f = lg_bind(domain, "double cube_root(double)", LG_DEFAULT);
 *     double (*cube_root)(double) = (double (*)(double))lg_function_pointer(f);
 *     if (!cube_root)
 *         return fprintf(stderr, "%s\n", lg_last_message()), 1;
 *     double y = cube_root(27.0);
 *     if (lg_failed() && lg_take_call_error() != LG_OK)
 *         fprintf(stderr, "%s\n", lg_last_message());
 *
 * Each function that takes a handle returns an error for NULL. So a program may check only the last
 * result of such a chain, as here; the message is then that of the last function. To get the first
 * cause, check each result. For options, NULL is valid: it means the defaults. So lg_options_new()
 * never returns NULL.
 *
 *     cc program.c $(pkg-config --cflags --libs lockgate)
 *
 * C++: lockgate.hpp. Making modules: lockgate-cc(1). Background: docs/ of the source.
 *
 * CONVENTIONS
 *
 * Errors. A function returns an lg_status, LG_OK (0) or what went wrong; or it returns a handle or
 * pointer, NULL if something went wrong. In both cases the *calling thread's last error* says more:
 * lg_last_status(), lg_last_message(), lg_last_fault(). A function that succeeds does not
 * change it. No function ends the process, and no exception leaves the library.
 *
 * Handles. lg_module, lg_domain and the others are handles: numbers that look like pointers, so
 * that the compiler can tell them apart. A freed handle, a handle of another kind and NULL are
 * errors (LG_E_HANDLE), never undefined behaviour. Free each handle that lg_X_new, _open or _bind
 * has made with lg_X_free, in any order, because handles are reference-counted. lg_X_free(NULL)
 * does nothing.
 *
 * Threads. You may call every function from any thread at any time, also with the same handle,
 * unless it says otherwise. Freeing a handle while another thread uses it is no error: the other
 * thread finishes. That does not hold for function *pointers*, which are plain C.
 *
 * Strings are UTF-8. The library copies strings that you pass. Strings that you get belong to the
 * handle that you asked, and are valid as long as it; strings of the last error are valid until the
 * next error.
 *
 * Cost. "Cheap" is some tens of nanoseconds: a lock and a look into a table. Every other function
 * says what it costs. Calls through function pointers take no lock and look into no table.
 *
 * Memory of the program is passed as a pointer and a size; with size 0 the pointer may be NULL. A
 * pointer that is not aligned for its type, or a size of more than PTRDIFF_MAX bytes, is
 * LG_E_ARGUMENT. The library does not check whether the memory exists.
 *
 * Stability. Handles are opaque, and functions set options. A structure that the library fills is
 * passed with its size, or only the library makes it: later versions may add fields at its end.
 * Enumerations and bits may get more values. Symbols have versions.
 *
 * HOSTS
 *
 * Signals. When you open the first module, the library installs handlers for SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGTRAP, SIGSYS and one real-time signal. At its first call each thread gets an
 * alternate signal stack, and all handlers of the process run on the alternate stack. It has 64 KiB
 * beyond the kernel's frames of 64 signals, or the size of the thread's own alternate stack, if
 * that is larger, and a guard of 256 KiB.
 *
 * The library passes a fault that is not a domain's to the handler that was there before. This
 * includes a fault of lg_memory_read(), lg_memory_write(), lg_memory_copy(), lg_region_read(),
 * lg_region_write() and their relatives at your side of the copy, if your program has a handler.
 * The handler may make the memory accessible (write barriers, lazy pages); the copy then continues.
 *
 * Handlers that come later, in a program that is linked with the library. The library's versions of
 * sigaction(), signal() and their relatives keep such a handler behind the library's.
 *
 * Handlers that come later, in a program that got the library by dlopen(). It uses libc's
 * sigaction(). The library puts its handlers in front again when a thread makes its first call, or
 * its next call after a bind, a reset, a fault or a domain from a pool; lg_claim_signals() does so
 * at once. A handler that came later then gets the host's own faults. It may call the handler that
 * was there before it, which is the library's; the library passes the fault on to the handler that
 * was there before the library, and without one the process ends. The same happens if that handler
 * installs itself again, and in a process with two copies of the library (its own and a plugin's).
 * The library's handlers may be called as C functions, with the arguments that the kernel has
 * passed.
 *
 * Threads that have called a domain do not have these signals blocked. In programs that are linked
 * with the library, its versions of pthread_sigmask(), sigprocmask() and their relatives report
 * them as blocked, and the signals still come. Elsewhere the library unblocks them whenever it puts
 * its handlers in front again. One exception: a handler of yours that interrupts a call which is to
 * end, or to be told something, may have SIGSYS blocked until it returns, and so may threads and
 * programs that it starts. On a thread that has called a domain, sigwait(), sigtimedwait(),
 * sigwaitinfo() and a signalfd that ask for all signals may return one of the library's: ignore a
 * signal that you do not know.
 *
 * Calls from signal handlers. A signal handler cannot call a domain: the call fails (lg_failed()).
 * Of the library's functions only lg_failed(), lg_interrupt() and calls through function pointers
 * are safe in handlers. Call lg_take_call_error(), which then returns LG_E_SIGNAL_HANDLER, only
 * where the handler may call malloc() and free(). The refused call does not affect calls of the
 * interrupted code, except that lg_failed() may be nonzero there afterwards; lg_take_call_error()
 * returns LG_OK there, because that code's own call has returned.
 *
 * A handler may run on a stack other than the alternate one; only a raw system call of the host can
 * cause that. Such a handler must save and restore lg_call_failed, as it does errno. If a call of
 * such a handler fails while an error of the interrupted code is not taken yet, the interrupted
 * code still learns that its call has failed, but lg_take_call_error() gives the handler's reason.
 *
 * On a thread that has not called a domain and has no alternate stack, the library cannot tell that
 * a handler calls: it admits the call, which allocates and takes locks. Call a domain on the thread
 * before such signals come.
 *
 * Interrupted system calls. The real-time signal makes threads check whether their call has ended.
 * When a domain is killed or closed, or a call is stopped, each thread that has called any domain
 * may get it, wherever it is: a system call that waits (read() of a pipe or socket, poll(),
 * nanosleep(), sem_wait()) then returns EINTR, as for any handler without SA_RESTART. Call it
 * again.
 *
 * longjmp and pthread_exit may leave a function that a domain has called through a function
 * pointer. The call that such a jump leaves is a *skipped* call. The library cannot see the jump,
 * so the skipped call and all that it holds (turns in exclusive domains, lent memory, an end by
 * lg_end_call()) stay until one of these events:
 *
 * - The thread ends.
 *
 * - The thread calls a domain from a frame that is not deeper than that of the function whose call
 *   was skipped: through a function pointer, or by a function of the library that runs a domain's
 *   code (lg_call(), lg_run(), lg_memory_alloc(), lg_domain_new(), lg_pool_take(), lg_dlopen() and
 *   the like).
 *
 * - The thread calls, from such a frame, lg_lend(), lg_domain_usage() or a function that waits for
 *   asynchronous calls. On a stack that is not the thread's own these three do not drop the call.
 *
 * - The thread calls one of these functions, but not a function pointer, from a deeper frame, and
 *   later frames have overwritten that of the skipped call.
 *
 * Until then, a call may be refused with LG_E_CALLBACK if lg_end_call() came before the jump, and
 * lg_user_data(), LG_CALLER, lg_caller() and lg_end_call() in deeper frames answer for the skipped
 * call.
 *
 * A jump must not leave lg_call(), lg_run(), lg_domain_new(), lg_memory_alloc() or another function
 * of the library, because the library's frames would be lost: the process may end. In a call that a
 * worker makes, and in the work of lg_spawn(), the result of such a jump is LG_E_CALLBACK, and
 * another worker takes the place. A library whose constructors or destructors ran is then closed,
 * and a domain that was being reset has ended.
 *
 * The same holds for C++ exceptions, but these must never leave a function that a domain has
 * called: catch them there and call lg_end_call(), as lockgate.hpp does.
 *
 * siglongjmp. If a signal handler leaves an interrupted call into a domain by siglongjmp, the call
 * counts as in progress until the thread makes a call from a frame that is not deeper than that
 * call's. Until then, calls from deeper frames are LG_E_SIGNAL_HANDLER. Handlers run while a
 * domain's code runs, or waits in a system call. While the library works for the domain (in mmap(),
 * for example), signals wait: for some microseconds, or for a disk.
 *
 * A handler may also end its thread, by pthread_exit or because it finds out that the thread was
 * cancelled. Clean-up handlers of C then run; destructors of C++ in frames outside of the call do
 * not. The same holds if a function that a domain has called ends its thread.
 *
 * pthread_cancel. Cancellation does not act inside the library: the call goes on, and the thread
 * ends at the next cancellation point in the program's own code. Asynchronous cancellation
 * (PTHREAD_CANCEL_ASYNCHRONOUS) must not be enabled when you call the library.
 *
 * exit. Handlers of atexit() and destructors may call the library, and domains. So may destructors
 * of a thread's keys, except in their last rounds.
 *
 * Threads that end. Each domain that the thread has called runs what its module keeps for that
 * (destructors of its keys), within the domain's time limit, or five seconds if it has none.
 *
 * fork. The child has what the parent made except its domains: modules, options, pools, workers,
 * regions, and handles of all that. It makes domains of its own from modules that the parent has
 * opened, without verifying them again. Pools and registries are empty there, and threads of the
 * library start again at first use. Every use of a domain of the parent's, of its functions, grants
 * and asynchronous calls, of libraries opened by lg_dlopen(), and of connections to other
 * processes, is LG_E_FORKED in the child, and does nothing to the parent's. A function that a
 * domain has called may fork: in the child the call ends with LG_E_FORKED when it returns; the
 * parent is not affected.
 *
 * A child that was forked on a worker's thread has the signal mask of the thread that made the
 * workers. The child ends, as by exit(0), when the function in which it was forked returns: the
 * worker's function, the one that lg_async_notify() calls, or the call that the worker makes. It
 * calls no other function of lg_async_notify(). A program that a worker's function starts without
 * fork(), by posix_spawn() or system(), begins with the worker's mask, in which all signals are
 * blocked: see posix_spawnattr_setsigmask().
 *
 * Stacks. A function that a domain has called may not switch to another stack (makecontext,
 * coroutines) and call domains there: the call is refused (LG_E_TOO_DEEP), or ends when it comes
 * back out of turn (LG_E_FAULT). A thread needs 40 KiB of its stack for its first call of a domain,
 * and 80 KiB to make one, to reset or restart one, or to give one back to its pool: with less these
 * may be LG_E_TOO_DEEP, and the pool may close the domain. Each library function needs 16 KiB of
 * stack to detect this. The library cannot tell how much is left of a coroutine's stack: give it
 * 96 KiB.
 *
 * Sanitizers and valgrind: docs/debugging.md.
 */
#ifndef LOCKGATE_H
#define LOCKGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lg_module lg_module;
typedef struct lg_options lg_options;
typedef struct lg_domain lg_domain;
typedef struct lg_function lg_function;
typedef struct lg_callback lg_callback;
typedef struct lg_region lg_region;
typedef struct lg_grant lg_grant;
typedef struct lg_arena lg_arena;
typedef struct lg_registry lg_registry;
typedef struct lg_principal lg_principal;
typedef struct lg_export lg_export;
typedef struct lg_request lg_request;
typedef struct lg_names lg_names;
typedef struct lg_offer lg_offer;
typedef struct lg_served lg_served;
typedef struct lg_remote lg_remote;
typedef struct lg_remote_function lg_remote_function;
typedef struct lg_observed lg_observed;
typedef struct lg_workers lg_workers;
typedef struct lg_async lg_async;
typedef struct lg_pool lg_pool;

/* A C function whose real type a prototype says: cast it before you call it. */
typedef void (*lg_code)(void);

/* ---- Errors ------------------------------------------------------------------------------------------------------- */

typedef enum lg_status {
    LG_OK = 0,
    LG_E_ARGUMENT = 1,  /* an invalid argument: NULL, not UTF-8, out of range, not as the prototype says */
    LG_E_HANDLE = 2,    /* NULL, freed, of another kind */
    LG_E_INTERNAL = 3,  /* the library is at fault */

    /* modules */
    LG_E_READ = 10,     /* the file cannot be read */
    LG_E_PARSE = 11,    /* it is no module */
    LG_E_REJECTED = 12, /* it breaks a rule of the code model; the message names rule and place */
    LG_E_HOST = 13,     /* this machine or process cannot run domains, or lacks what the module needs */
    LG_E_MEMORY = 14,   /* no memory, address space or kernel mappings */

    /* domains and bindings */
    LG_E_OPTION = 20,   /* an option that cannot be met */
    LG_E_LIMIT = 21,    /* the image does not fit in the memory limit */
    LG_E_IMPORT = 22,   /* the module has no such import, or with another signature */
    LG_E_START = 23,    /* the module's initialisation failed; perhaps with a fault */
    LG_E_MISSING = 24,  /* no such export; the message suggests a similar one */
    LG_E_SIGNATURE = 25, /* the module's note says another signature, or no side says one */
    LG_E_PROTOTYPE = 26, /* no C prototype, or one of a function that cannot be called this way */
    LG_E_IN_USE = 27,   /* the domain still has functions, callbacks or threads that its module has started */
    LG_E_NO_POINTERS = 28, /* all function pointers that the domain can have are in use */
    LG_E_DIRECTORY = 29, /* the directory cannot be granted */
    LG_E_STREAM = 30,   /* the descriptor cannot be granted */
    LG_E_JOIN = 31,     /* the module cannot join this domain, or is not loaded in it */

    /* calls */
    LG_E_FAULT = 40,    /* the domain faulted, ran out of time, was killed or ended itself: see lg_last_fault() */
    LG_E_CALLBACK = 41, /* a function of the host that the domain called ended the call: lg_end_call() */
    LG_E_SIGNAL_HANDLER = 42, /* domains cannot be entered from a signal handler */
    LG_E_TOO_DEEP = 43, /* nested calls would overflow the host's stack, or come from another one */
    LG_E_FORKED = 44,   /* the domain belongs to the parent of this process */
    LG_E_THREAD_ENDING = 45, /* the thread has left all domains already */
    LG_E_HANDLER = 46,  /* a signal handler of the program does not run on the alternate stack, and cannot be changed */
    LG_E_THREADS = 47,  /* the domain has as many threads as it may */
    LG_E_DEPTH = 48,    /* the call would be nested deeper than the domain allows */
    LG_E_QUEUE_FULL = 49, /* as many asynchronous calls as may wait already */
    LG_E_CANCELLED = 50, /* the asynchronous call was cancelled */
    LG_E_DEADLINE = 51, /* it had not ended by its deadline */
    LG_E_CPU_TIME = 52, /* the domain has used up its CPU time */
    LG_E_KILLED = 53,   /* the domain was killed or closed */
    LG_E_REVOKED = 54,  /* the registry took the name back */
    LG_E_RESTARTED = 55, /* the domain was restarted; bind again */
    LG_E_UNRESOLVED = 56, /* an import was not found at its first call */
    LG_E_BUSY = 57,     /* the exclusive domain was busy for too long, or a library's constructors on another thread; a domain is being
                         * reset */
    LG_E_DEADLOCK = 58, /* the call would wait for itself */
    LG_E_CALLEE = 59,   /* another domain that the domain called failed */
    LG_E_THREAD_INIT = 60, /* thread-local storage of the module could not be made */
    LG_E_GONE = 61,     /* the function was freed before the program asked why its call failed */
    LG_E_INTERRUPTED = 62, /* the host's predicate says that calls must end: lg_options_stop_if() */
    LG_E_DETACHED = 63, /* the caller's time is over, and the call goes on without it: LG_DETACH */

    /* memory */
    LG_E_INACCESSIBLE = 70, /* not all bytes are the domain's, or not with that right */
    LG_E_UNTERMINATED = 71, /* no string that ends in time */
    LG_E_NO_ALLOCATOR = 72, /* the module has no allocator for the host */
    LG_E_NO_MEMORY = 73,    /* the domain has no memory left */

    /* shared memory */
    LG_E_EMPTY = 80,        /* a region or a block of 0 bytes */
    LG_E_UNALIGNED = 81,    /* not whole pages */
    LG_E_PRIVATE = 82,      /* private memory of the host has no second address */
    LG_E_NOT_MAPPED = 83,   /* not one mapping of the host's */
    LG_E_WINDOW = 84,       /* a domain's own memory */
    LG_E_FILE = 85,         /* a file that cannot be shared, or is too short */
    LG_E_NO_ROOM = 86,      /* no room in the shared region of windows */
    LG_E_TOO_MANY = 87,     /* the domain has 64 grants already */
    LG_E_OVERLAP = 88,      /* the domain has the region already */
    LG_E_UPGRADE = 89,      /* more rights than there are to give */
    LG_E_GRANT_REVOKED = 90, /* the grant was revoked, or its domain was reset or is gone */
    LG_E_RANGE = 91,        /* not inside the region */
    LG_E_LOST = 92,         /* the region's file was truncated */
    LG_E_SYSTEM = 93,       /* the kernel refused */
    LG_E_ARENA_FULL = 94,   /* no room for the block in the arena */
    LG_E_BLOCK = 95,        /* no block is there: it was freed, or never was */
    LG_E_NOT_ARENA = 96,    /* the address lies in no arena */
    LG_E_NOT_OPEN = 97,     /* the arena is not open for the domain */

    /* the registry */
    LG_E_UNKNOWN = 100,     /* nothing of that name */
    LG_E_LATE = 101,        /* nothing of that name in time; another process has not answered in time */
    LG_E_FORBIDDEN = 102,   /* the principal may not bind it */
    LG_E_VERSION = 103,     /* other versions only */
    LG_E_NO_SIGNATURE = 104, /* the host must give the prototype: only a module does, or no side */
    LG_E_TAKEN = 105,       /* name and major version are exported already; another process listens there */
    LG_E_DOMAIN_TAKEN = 106, /* another domain of this name exports */
    LG_E_UNKNOWN_DOMAIN = 107, /* no domain of this name exports */
    LG_E_HOST_FUNCTION = 108, /* it is a function of the host: call it directly */
    LG_E_FULL = 109,        /* all places for exports and bindings are taken */
    LG_E_TOO_OFTEN = 111,   /* the domain was restarted too often */
    LG_E_RESTARTING = 112,  /* another thread is restarting it */

    LG_E_PENDING = 120,     /* the asynchronous call, or the wait, has not ended yet */

    /* observing processes */
    LG_E_NO_PROCESS = 130,  /* no such process */
    LG_E_PERMISSION = 131,  /* it may not be read */
    LG_E_NO_EXPORTS = 132,  /* it exports nothing */
    LG_E_LAYOUT = 133,      /* it uses another version of the library */

    /* other processes */
    LG_E_CONNECT = 140,     /* there is no connection to be had */
    LG_E_CLOSED = 141,      /* the other process has closed the connection */
    LG_E_PROTOCOL = 142,    /* it does not keep to the protocol, or is of another version */
    LG_E_REFUSED = 143,     /* it refuses, for a reason that the message has */
    LG_E_LISTEN = 144       /* the process cannot listen there */
} lg_status;

typedef enum lg_fault_kind {
    LG_FAULT_SEGV = 1,  /* access to memory that the domain does not have */
    LG_FAULT_BUS = 2,   /* access to a page that its file does not back */
    LG_FAULT_FPE = 3,   /* arithmetic */
    LG_FAULT_ILL = 4,   /* illegal instruction: traps of compilers, failed checks of the code model */
    LG_FAULT_TRAP = 5,  /* breakpoint, or padding reached */
    LG_FAULT_STACK_OVERFLOW = 6,
    LG_FAULT_CONTROL_STACK_OVERFLOW = 7,
    LG_FAULT_QUOTA = 8, /* the memory limit had refused a request before */
    LG_FAULT_TIME_OUT = 9,
    LG_FAULT_EXIT = 10, /* the module called exit; detail is the status */
    LG_FAULT_ABORT = 11,
    LG_FAULT_SIGNAL = 12, /* the module sent itself a signal; detail is the number */
    LG_FAULT_KILLED = 13,
    LG_FAULT_CPU_TIME = 14,
    LG_FAULT_STOPPED = 15, /* a cancelled asynchronous call, its deadline, or lg_options_stop_if() */
    LG_FAULT_GATE = 16  /* a host function that the domain does not have, or unreadable arguments */
} lg_fault_kind;

typedef enum lg_access { LG_ACCESS_NONE = 0, LG_ACCESS_READ = 1, LG_ACCESS_WRITE = 2, LG_ACCESS_EXECUTE = 3 } lg_access;

/* Registers at a fault; general registers are zero where a gate, not an instruction, ended the
 * call. */
typedef struct lg_registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags;
    uint64_t error; /* the processor's page-fault error code */
} lg_registers;

/* A report of what happened in a domain. Only the library makes it, so it may grow at its end. (Of
 * a domain of another process it has kind, detail, report, domain and entry_point.) */
typedef struct lg_fault {
    lg_fault_kind kind;
    int detail;              /* exit status, signal number */
    const char *report;      /* everything, as one line for people */
    const char *reason;      /* one sentence: what happened */
    const char *domain;      /* name of the domain */
    const char *module;      /* name of its module */
    const char *entry_point; /* the function that the host called */
    const char *function;    /* the function that faulted, or NULL if unknown */
    const char *file;        /* its source file, or NULL if the module has no debug information for it */
    unsigned line;           /* and line; 0 if unknown */
    lg_access access;        /* what the instruction wanted at `address` */
    uint64_t offset;         /* of the instruction in `function` */
    int has_address;         /* 0 if the fault has no address */
    int has_instruction;     /* 0 if the instruction lies outside of the module's image */
    uint64_t address;        /* as an offset from the window's base */
    uint64_t instruction;    /* as an address in the module's image */
    lg_registers registers;
} lg_fault;

/* The calling thread's last error: LG_OK if there was none yet. Cheap; never fails. */
lg_status lg_last_status(void);

/* Its message, never NULL: what went wrong, where, and how to fix it. Valid until the thread's next
 * error. */
const char *lg_last_message(void);

/* Its fault, or NULL if it was none. Valid until the thread's next error. */
const lg_fault *lg_last_fault(void);

/* The backtrace at that moment, a line for each function, through all domains of the thread; NULL
 * if the last error was no fault, or one in another process. Milliseconds. Valid until the thread's
 * next error. */
const char *lg_last_backtrace(void);

/* Forgets the last error. */
void lg_clear_error(void);

/* Name of a status ("LG_E_FAULT"), "unknown" for other numbers. Static. */
const char *lg_status_name(int status);

/* Version of the library, "major.minor.patch". Static. */
const char *lg_version(void);

/* Puts the library's signal handlers back in front of handlers that sanitizers, interpreters and
 * others have installed since the first module was opened; those then get the faults that are not a
 * domain's. Makes all handlers run on the alternate stack. Call it in processes that got the
 * library by dlopen(), after anything that may have installed handlers; in others the library
 * notices by itself. LG_E_HANDLER. */
lg_status lg_claim_signals(void);

/* Not zero if the calling thread's last call through a function pointer did not return; its result
 * is meaningless then. One load. (It may also be not zero if a signal handler's call was refused
 * and the handler did not ask why: lg_take_call_error() is LG_OK then, and the call returned.) */
static __inline__ int lg_failed(void);

/* Why that call did not return, as the thread's last error, or LG_OK if it did return. After that,
 * lg_failed() is 0. The library forgets an error that the program does not ask for when the thread
 * makes its next call (also by lg_call(), lg_memory_alloc(), lg_memory_free() and lg_domain_new()),
 * or when the callback that made the call returns. The first report of a module's fault reads debug
 * information (milliseconds); later ones take some microseconds. */
lg_status lg_take_call_error(void);

/* ---- Modules ------------------------------------------------------------------------------------------------------ */

/* Reads and verifies a module: milliseconds for each megabyte. Every domain of the module shares
 * its code and constants. Errors: LG_E_READ, LG_E_PARSE, LG_E_REJECTED, LG_E_HOST, LG_E_MEMORY. */
lg_module *lg_module_open(const char *path);

/* The same of a module in memory, which is copied. LG_E_READ: more than 1 GiB, as for files, or no
 * memory for the copy. */
lg_module *lg_module_from_bytes(const void *bytes, size_t size);

/* Frees the handle. Domains of the module live on. */
lg_status lg_module_free(lg_module *module);

/* File name, or "module" for one from bytes. */
const char *lg_module_name(lg_module *module);

/* Functions that the module exports and imports, and their C prototypes: NULL if the module has no
 * note of one. The count is 0, with an error, for no module; an index beyond the count is
 * LG_E_ARGUMENT. */
size_t lg_module_export_count(lg_module *module);
const char *lg_module_export_name(lg_module *module, size_t index);
const char *lg_module_export_prototype(lg_module *module, size_t index);
size_t lg_module_import_count(lg_module *module);
const char *lg_module_import_name(lg_module *module, size_t index);
const char *lg_module_import_prototype(lg_module *module, size_t index);

/* The verifier's findings: the state that the module can read or modify. Proxies keep and clear
 * only that. */
typedef struct lg_report {
    uint64_t text_bytes;
    uint64_t instructions;
    int x87;             /* uses x87 or MMX state */
    int x87_environment; /* reads the x87 environment */
    int mxcsr_write;
    int mxcsr_read;
    int evex;            /* can use zmm0-31 */
    int mask;            /* can use mask registers */
    int ymm;             /* can use upper halves of vector registers */
    uint32_t callee_saved_written; /* bit i: register i (rbx 3, rbp 5, r12-r15) */
    uint32_t gate_count; /* functions of the host, system calls included, that it can call */
} lg_report;

/* lg_module_report(module, &report, sizeof report). Cheap. */
lg_status lg_module_report(lg_module *module, lg_report *report, size_t size);

/* ---- Policies ----------------------------------------------------------------------------------------------------- */

/* The properties that a call has beyond those that every call has, and whether the library counts
 * calls: docs/policies.md. Each side asks for itself, and the proxy enforces what either asks for.
 * A policy is one word; `|` joins policies. */
typedef uint32_t lg_policy;

#define LG_REGISTER_INTEGRITY 1u
#define LG_REGISTER_CONFIDENTIALITY 2u
#define LG_CPU_STATE 4u
#define LG_CLIENT(properties) ((lg_policy)(properties))
#define LG_SERVER(properties) ((lg_policy)(properties) << 8)
#define LG_COUNTED ((lg_policy)1 << 16) /* calls are counted: lockgate-ps(1) */
#define LG_TIMED ((lg_policy)1 << 17)   /* counted and timed */

#define LG_MUTUAL_TRUST ((lg_policy)0)
#define LG_SERVER_TRUSTED LG_SERVER(LG_REGISTER_CONFIDENTIALITY | LG_CPU_STATE)
#define LG_INTEGRITY LG_CLIENT(LG_REGISTER_INTEGRITY | LG_CPU_STATE)
#define LG_MUTUAL_DISTRUST \
    (LG_CLIENT(LG_REGISTER_INTEGRITY | LG_REGISTER_CONFIDENTIALITY | LG_CPU_STATE) | LG_SERVER_TRUSTED)

/* The default of the side that asks: mutual distrust for the caller, nothing for the callee. */
#define LG_DEFAULT ((lg_policy)1 << 31)

/* ---- Options ------------------------------------------------------------------------------------------------------ */

/* Options of domains (docs/limits.md). You may call each setter again; the new value counts for
 * domains that you make afterwards. A setter that fails changes nothing. lg_domain_new() refuses a
 * limit below what the domain needs to begin, or outside of the range that is given here. A memory
 * limit larger than the window has no effect. All setters are cheap. (lg_options_new() is never
 * NULL, because NULL means the defaults: if it fails, its result is LG_E_HANDLE wherever you use
 * it.) */
lg_options *lg_options_new(void);
lg_status lg_options_free(lg_options *options);

lg_status lg_options_name(lg_options *options, const char *name);                 /* default: the module's name. In reports */
lg_status lg_options_memory_limit(lg_options *options, uint64_t bytes);           /* default 64 MiB. Counts image, stacks, heap, mappings */
lg_status lg_options_stack_size(lg_options *options, uint64_t bytes);             /* default 1 MiB. Of each thread; whole pages */
lg_status lg_options_time_limit(lg_options *options, uint64_t milliseconds);      /* default: none. Of each call */
lg_status lg_options_detached_limit(lg_options *options, uint64_t milliseconds);   /* default: 60000. Of each call that goes on without its caller (LG_DETACH), from then on; 0: none does */
lg_status lg_options_cpu_limit(lg_options *options, uint64_t milliseconds);       /* default: none. Of all calls together */
lg_status lg_options_measure_cpu_time(lg_options *options);                       /* default: not measured. For lg_domain_usage() */
lg_status lg_options_thread_limit(lg_options *options, uint32_t threads);         /* default 63. 1-63 */
lg_status lg_options_max_guest_threads(lg_options *options, uint32_t threads);    /* default 0. Threads that the module may start */
lg_status lg_options_descriptor_limit(lg_options *options, uint32_t descriptors); /* default 256. 1-65536 */
lg_status lg_options_mapping_limit(lg_options *options, uint32_t mappings);       /* default 1024. 1-16384. Mappings of memory (mmap) */
lg_status lg_options_depth_limit(lg_options *options, uint32_t depth);            /* default: the host's stack. Nested calls */
lg_status lg_options_umask(lg_options *options, uint32_t mask);                   /* default 022. 0-0777. File mode creation mask at the start */
lg_status lg_options_seal(lg_options *options);                                   /* default: not sealed. mseal(2) code and tables for good */
lg_status lg_options_full_xstate(lg_options *options);                            /* default: what the module uses. For modules that join with AVX-512 and the like: calls cost more */
lg_status lg_options_policy(lg_options *options, lg_policy policy);               /* default: nothing. For the callee, in calls of the domain */

/* Ends calls when the host says so. After lg_interrupt(), while `predicate(user)` is not 0, the
 * innermost call on that thread ends with LG_FAULT_STOPPED (if the domain has called a function of
 * the host: when that returns), and a new one is refused with LG_E_INTERRUPTED. The library calls
 * `predicate` in signal handlers on the calling thread, so it may only read flags of the host.
 * Calls cost no more. */
typedef int (*lg_stop_predicate)(void *user);
lg_status lg_options_stop_if(lg_options *options, lg_stop_predicate predicate, void *user);

/* Makes the calling thread ask the predicate of the domain that it is in, within about a
 * millisecond. It is meant for signal handlers: it is async-signal-safe, and does nothing on
 * threads that have called no domain. */
void lg_interrupt(void);

/* Makes the domain exclusive: one thread at a time. Other threads wait this many milliseconds (then
 * LG_E_BUSY), or without end if the number is negative. Threads that the module has started
 * (lg_options_max_guest_threads()) wait without end, because no caller could get the error. */
lg_status lg_options_exclusive(lg_options *options, int64_t timeout_ms);

/* Arguments (argv) and environment of a program; the library passes nothing of the host's own on.
 * For one name the last value counts. Arguments and values need not be UTF-8. */
lg_status lg_options_arguments(lg_options *options, size_t count, const char *const *arguments);
lg_status lg_options_environment(lg_options *options, const char *name, const char *value);

/* Answers the module's import with a function of the host. The prototype has the import's name:
 * "int log_line(const char *)". The domain's call runs the function itself, on the thread of the
 * call, with the domain's arguments: check them. A bool argument is 0 or 1, but a bool inside a
 * structure may hold any byte: declare it as unsigned char, and compare. Pointers are the domain's
 * (lg_memory_read with LG_CALLER). In the function, lg_user_data() returns `user`. The function
 * must not return a structure of more than 16 bytes (LG_E_PROTOTYPE). The function and `user` must
 * live as long as domains that were made with these options. */
lg_status lg_options_gate(lg_options *options, const char *prototype, lg_code function, void *user);

/* Grants files of the host to system calls: the directory `host`, and all beneath it, as `guest`;
 * the directory in which the domain starts; a duplicate of a descriptor as stream 0, 1 or 2; the
 * host's own streams. lg_options_forbid(): the domain can never open the file behind this
 * descriptor, nor set its rights and times, wherever it finds the file. (Where the domain may write
 * in a directory, it may rename, link and remove what is there, this file included.) */
lg_status lg_options_directory(lg_options *options, const char *guest, const char *host, int writable);
lg_status lg_options_current_directory(lg_options *options, const char *guest);
lg_status lg_options_stream(lg_options *options, int number, int descriptor);
lg_status lg_options_standard_streams(lg_options *options);
lg_status lg_options_forbid(lg_options *options, int descriptor);

/* Grants sockets: an address at which the domain may listen, and one to which it may connect and
 * send. "127.0.0.1:6379", "[::1]:8080", "udp:10.0.0.1:53", "unix:/run/x.sock"; "*" is any address
 * of the machine, or any port; at port 0 the kernel picks one to listen on. A name
 * ("example.org:443") is the addresses that the host's resolver has for it now, for connecting. The
 * path of a UNIX socket is the host's and the domain's; "unix:*" is all in directories that the
 * domain may write. An unconnected UDP socket receives only from addresses that it may send to,
 * unless it is bound to an address that was granted to listen on. LG_E_ARGUMENT: the text is not an
 * address. */
lg_status lg_options_listen(lg_options *options, const char *address);
lg_status lg_options_connect(lg_options *options, const char *address);

/* Has a registry answer the imports that lg_options_gate() does not answer (LG_PROCESS_REGISTRY:
 * the process's). The library looks each up at its first call, with the principal's permissions. A
 * call of an import that is not found ends with LG_E_UNRESOLVED. The domain does not keep the
 * registry alive. */
lg_status lg_options_registry(lg_options *options, lg_registry *registry, lg_principal *principal);

/* ---- Domains ------------------------------------------------------------------------------------------------------ */

/* Stands for the calling domain, in a function that a domain has called. The handle belongs to the
 * code that made the domain: to free, close or reset LG_CALLER is LG_E_HANDLE. */
#define LG_CALLER ((lg_domain *)1)

/* Makes a domain and runs the module's initialisation in it, on this thread: some ten microseconds.
 * Options may be NULL. Errors: LG_E_OPTION, LG_E_LIMIT, LG_E_IMPORT, LG_E_START, LG_E_MEMORY. */
lg_domain *lg_domain_new(lg_module *module, lg_options *options);

/* Frees the handle. Functions of the domain keep it alive; threads that the module started end.
 * This does not wait for them: files that the domain has open, and its locks on them, go with the
 * last thread, some milliseconds later. The same holds for lg_domain_close(). */
lg_status lg_domain_free(lg_domain *domain);

/* Ends all calls in progress in the domain, on any thread, with LG_FAULT_KILLED, and refuses later
 * ones with LG_E_KILLED. If such a call has called another domain, it ends when that inner call
 * ends; the library stops an inner call that takes longer than a second (LG_FAULT_STOPPED). */
lg_status lg_domain_kill(lg_domain *domain);

/* LG_OK, or LG_E_FAULT if a thread that the module has started itself
 * (lg_options_max_guest_threads()) has ended the domain by a fault: the calling thread's last error
 * then has that fault (lg_last_fault()). Another end on such a thread has its own status. Calls say
 * only that the domain was killed, because no call was in progress on that thread. After a reset it
 * is LG_OK again. */
lg_status lg_domain_guest_threads_fault(lg_domain *domain);

/* LG_OK, or LG_E_FAULT if a call that went on without its caller (LG_DETACH) has ended by a fault:
 * the calling thread's last error then has that fault (lg_last_fault()), of the last such call. The
 * fault ended that call only. A call that its limit ends is one of them (LG_FAULT_TIME_OUT). After
 * a reset it is LG_OK again. */
lg_status lg_domain_detached_fault(lg_domain *domain);

/* Kills the domain, frees the handle, and releases the domains that it calls. Domains that call
 * each other keep each other alive until you close one of them. A domain of a pool's does not go
 * back. */
lg_status lg_domain_close(lg_domain *domain);

/* Returns the domain to its pristine image and starts it again. Its imports are those that it was
 * made with: the reset undoes later links. Its functions and callbacks must have been freed, and no
 * thread may be using the domain: LG_E_IN_USE. If the domain cannot be started again (LG_E_START,
 * LG_E_MEMORY), it has ended: LG_E_KILLED from then on. While a reset runs, every use of the domain
 * is LG_E_BUSY, on any thread; host functions that the domain's constructors call are no exception,
 * but may use LG_CALLER. lg_domain_kill(), lg_domain_close() and lg_domain_free() work as ever: the
 * first two end the constructors (LG_E_START). A reset changes nothing if a call could not begin on
 * the thread: because of its stack, the host's predicate, or a call in progress that must end. In a
 * function that a domain has called, the start is a part of that domain's call: if a limit of the
 * call ends the start, the domain that was being reset has ended. A pool resets its domains by
 * itself: LG_E_ARGUMENT. */
lg_status lg_domain_reset(lg_domain *domain);

/* Name in reports. NULL if there is no such domain. (Not of LG_CALLER: the string belongs to the
 * handle.) */
const char *lg_domain_name(lg_domain *domain);

/* Address of the window: a pointer of the domain's is this plus an offset below 4 GiB. 0 if there
 * is no such domain. */
uint64_t lg_domain_base(lg_domain *domain);

typedef struct lg_usage {
    uint64_t memory;       /* bytes: image, stacks of all threads, heap, mappings */
    uint64_t peak_memory;  /* the most since start or reset */
    uint64_t memory_limit;
    uint64_t cpu_time_ns;  /* that calls have used */
    int has_cpu_time;      /* 0 if it is not measured */
    uint32_t threads;      /* that have a place in the domain */
    uint32_t descriptors;  /* open */
    uint32_t calls;        /* in progress, on all threads */
    uint32_t detached;     /* in progress, of those that went on without their callers (LG_DETACH) */
    uint64_t detached_ended;   /* of those, that have ended since start or reset */
    uint64_t detached_failed;  /* of these, that did not return */
    uint64_t detached_settled; /* so many, in the order in which their callers left them, have all ended */
} lg_usage;

/* Fills in what the domain uses now: lg_domain_usage(domain, &usage, sizeof usage). A microsecond
 * for each thread. */
lg_status lg_domain_usage(lg_domain *domain, lg_usage *usage, size_t size);

/* System calls that the module tried and that do not exist for it. Numbers from 1024 on, of which
 * Linux has none, count as 1024. Fills in at most `capacity`, and returns how many exist. */
typedef struct lg_refused {
    uint64_t number;
    uint64_t times;
} lg_refused;
size_t lg_domain_refused_syscalls(lg_domain *domain, lg_refused *refused, size_t capacity);

/* Lists what the module tried and was not granted, and how often, one line for each: "connect to
 * 10.0.0.1:80: 3". Writes at most `size` bytes, the last of them zero, and returns how long the
 * text is, as snprintf() does. */
size_t lg_domain_denied(lg_domain *domain, char *text, size_t size);

/* ---- Functions ---------------------------------------------------------------------------------------------------- */

/* Binds an export by its prototype: "double cbrt(double)", which must agree with the module's note,
 * if it has one. The library knows typedefs of the standard library; write other types out,
 * structures as "struct { double x; int n; }", any pointer as "void *". Some microseconds.
 *
 * "cbrt" alone is enough if the module's note has the prototype *and* all arguments and the result
 * travel in registers. Then the module says what the function is, and may lie. In any case a call
 * reads and writes no memory of yours, but arguments and result may not be what you meant.
 * Arguments on the stack (the seventh integer, the ninth floating-point number, structures of more
 * than 16 bytes) and results of more than 16 bytes need a prototype (LG_E_NO_SIGNATURE), because
 * the proxy copies them from and to memory of the caller's, and only the caller may say their
 * sizes. Errors: LG_E_MISSING, LG_E_SIGNATURE, LG_E_NO_SIGNATURE, LG_E_PROTOTYPE, LG_E_MEMORY. */
lg_function *lg_bind(lg_domain *domain, const char *prototype, lg_policy policy);

/* The end of the caller's own limit: its effect on the call. */
typedef enum lg_expiry {
    LG_STOP = 0,  /* it ends: LG_E_FAULT, LG_FAULT_TIME_OUT */
    LG_DETACH = 1 /* it goes on without its caller, which gets LG_E_DETACHED */
} lg_expiry;

/* The same, for calls of at most so many milliseconds (at least 1). The domain's own limit
 * (lg_options_time_limit()) counts if it is shorter, and ends the call. Calls in time cost as much
 * as with any limit.
 *
 * With LG_DETACH a call that takes longer fails with LG_E_DETACHED, and goes on, on a thread of the
 * library's, which takes over its stacks and thread-local storage in the domain: until it returns,
 * or lg_options_detached_limit() ends it, or lg_domain_kill(), or the end of the domain's handle or
 * of the process. Its result is dropped. Its later calls of host functions run on that thread,
 * where lg_is_modules_thread() is 1. It keeps its place under lg_options_thread_limit(): if all are
 * taken, the caller's next call is LG_E_THREADS. Until it has ended, lg_domain_reset() is
 * LG_E_IN_USE, and the domain does not go back to its pool.
 *
 * The caller's own memory is not touched any more. Memory that was passed lies in the domain, and
 * belongs to the call: do not free or reuse it, nor end a grant that the call uses, before the call
 * has ended. To know that, read lg_domain_usage() after LG_E_DETACHED: your call is one of the
 * first `detached + detached_ended`, and has ended when `detached_settled` is as many. You may free
 * the function at once. lg_domain_detached_fault() tells what ended the last one.
 *
 * A call ends all the same (LG_FAULT_TIME_OUT) while it is in a function of the host's or in
 * another domain, in another call of the same domain, in a signal handler or a context
 * (makecontext()) of the module's; while the thread has lent memory to any domain (lg_lend()); in a
 * system call that cannot be made once more, such as sigsuspend() or connect(); and if the system
 * has no thread for it. Errors: those of lg_bind(), LG_E_ARGUMENT. */
lg_function *lg_bind_within(lg_domain *domain, const char *prototype, lg_policy policy, uint64_t milliseconds, lg_expiry on_expiry);

/* Frees the handle. Calls in progress must have ended, on all threads; freeing while a call is in
 * progress is undefined behaviour. A later call through the pointer is undefined behaviour, too: it
 * fails with LG_E_GONE, ends the process, or calls a function that was bound since and has the same
 * pointer. Read the error of the function's last call before you free it: later it is LG_E_GONE. */
lg_status lg_function_free(lg_function *function);

/* The function as a C function pointer of the prototype's type, for any thread, as long as the
 * handle lives. After each call, lg_failed() tells whether it returned. Pointers that you pass must
 * be the domain's, or NULL: the domain cannot reach others. The first call on a thread gives it
 * stacks in the domain (microseconds); later ones cost some nanoseconds more than any call through
 * a pointer. */
lg_code lg_function_pointer(lg_function *function);

/* Its prototype, with typedefs resolved. */
const char *lg_function_prototype(lg_function *function);

/* The policy that the proxy enforces: every property that at least one side asked for. */
lg_policy lg_function_policy(lg_function *function);

/* The code of the proxy that enforces it, to look at. Valid as long as the function. */
const void *lg_function_proxy(lg_function *function, size_t *size);

/* A value whose type is known at run time only: `type` says which field of `as` counts. A structure
 * lies at `bytes`. */
typedef enum lg_type {
    LG_VOID = 0,
    LG_SIGNED = 1,   /* as.i: an integer of any size */
    LG_UNSIGNED = 2, /* as.u */
    LG_FLOAT = 3,    /* as.f */
    LG_DOUBLE = 4,   /* as.d */
    LG_POINTER = 5,  /* as.p: the domain's */
    LG_STRUCT = 6,   /* bytes: laid out as C does */
    LG_BUFFER = 7    /* bytes: an array, in lg_remote_call() alone */
} lg_type;

typedef struct lg_value {
    lg_type type;
    union {
        int64_t i;
        uint64_t u;
        float f;
        double d;
        void *p;
    } as;
    struct {
        void *at;
        size_t size; /* that of the structure or array, exactly */
    } bytes; /* of structures and arrays alone; no result changes it */
} lg_value;

/* Calls with arguments whose types are known at run time only. You say beforehand in result->type
 * which type of result you expect: another one is LG_E_ARGUMENT, and the library does not call the
 * function. It fills in `as`; it writes a structure to result->bytes, where you provide room.
 * `result` may be NULL. A microsecond. Errors: LG_E_ARGUMENT, or those of calls; lg_failed() is not
 * affected. */
lg_status lg_call(lg_function *function, const lg_value *arguments, size_t count, lg_value *result);

/* ---- Callbacks ---------------------------------------------------------------------------------------------------- */

/* Makes a function of the host callable by the domain, through a pointer that you pass to it. The
 * rules of lg_options_gate() apply. A domain can have 1024 at a time (LG_E_NO_POINTERS).
 * Cheap. */
lg_callback *lg_callback_new(lg_domain *domain, const char *prototype, lg_code function, void *user);

/* Removes it: a call of the module through the pointer then ends with LG_FAULT_GATE. Threads may
 * still be in the function when this returns. */
lg_status lg_callback_free(lg_callback *callback);

/* The function pointer, as the module sees it; the host must not call it. */
void *lg_callback_pointer(lg_callback *callback);

/* In a function that a domain has called: the `user` that the function was made with. NULL
 * elsewhere. Some nanoseconds. */
void *lg_user_data(void);

/* 1 on a thread that a module has started itself, and on one that goes on with a call whose caller
 * has left it (LG_DETACH); 0 elsewhere. If a host function ends the call there, no caller gets an
 * error: on a module's own thread the domain ends, on the other that call. */
int lg_is_modules_thread(void);

/* In a function that a domain has called: the domain's call ends with LG_E_CALLBACK and this
 * message as soon as the function returns. The function's result does not count, and no message is
 * an error, NULL and text that is not UTF-8 included. Return at once: until then calls of all
 * domains are refused with LG_E_CALLBACK. LG_E_ARGUMENT elsewhere. */
lg_status lg_end_call(const char *message);

/* ---- Memory ------------------------------------------------------------------------------------------------------- */

/* The module's pointers are real addresses, which the host could follow. But the module chooses
 * them, and may change or unmap the memory behind them at any time. These functions copy each byte
 * once; nothing that the module does meanwhile makes them fault. They take the low half of an
 * address, as the module's own accesses do: no pointer leads out of the domain. The copy is the
 * domain's word: check it. */

typedef enum lg_rights { LG_READ = 1, LG_READ_WRITE = 3 } lg_rights;

/* Allocates memory for arguments in the domain, with the module's own malloc. Costs a call. The
 * address is the module's word (lg_memory_check()). NULL: LG_E_NO_MEMORY, LG_E_NO_ALLOCATOR, errors
 * of calls. */
void *lg_memory_alloc(lg_domain *domain, size_t size);

/* The same, with a copy of `bytes` in it. Strings: strlen(s) + 1. */
void *lg_memory_alloc_copy(lg_domain *domain, const void *bytes, size_t size);

/* Frees it. The module's free may fault, if the module has damaged its heap: LG_E_FAULT. */
lg_status lg_memory_free(lg_domain *domain, void *at);

/* Copies out of the domain, into it. LG_E_INACCESSIBLE: part may have been copied. */
lg_status lg_memory_read(lg_domain *domain, void *to, const void *from, size_t size);
lg_status lg_memory_write(lg_domain *domain, void *to, const void *from, size_t size);

/* For stubs: lg_memory_read() and lg_memory_write() without their checks, by whole addresses. The
 * caller has made sure that the domain's side lies within its window (lg_domain_base), and that the
 * domain is alive. Returns how many bytes it could not copy; to learn why, make the same copy with
 * lg_memory_read() or lg_memory_write(). It uses no handle, no lock, no table and no last error. */
size_t lg_memory_copy(void *to, const void *from, size_t size);

/* Copies a string of less than `size` bytes, with its zero; its length goes to `length`, which may
 * be NULL. LG_E_UNTERMINATED if it is longer, LG_E_INACCESSIBLE if it runs out of the domain's
 * memory. */
lg_status lg_memory_read_string(lg_domain *domain, char *to, size_t size, const void *from, size_t *length);

/* Checks that all of the range is memory of the domain, grants included, with these rights, by the
 * whole address: for pointers that the host wants to follow itself. That is safe as long as nothing
 * runs in the domain that could unmap the memory. While something runs, the contents may change at
 * any time. Some ten nanoseconds for each page. LG_E_INACCESSIBLE. */
lg_status lg_memory_check(lg_domain *domain, const void *at, size_t size, lg_rights rights);

/* ---- Shared memory --------------------------------------------------------------------------------------------------- */

/* Memory that the host shares with domains (docs/grants.md): whole pages, at the same window offset
 * in all of them, so that a pointer that one domain stores there is valid in the others.
 * lockgate_ring.h has queues in it, for both sides. */

/* `length` bytes of zeros, rounded up to pages. All regions of a process share 1 GiB. LG_E_EMPTY,
 * LG_E_NO_ROOM. Microseconds. */
lg_region *lg_region_new(uint64_t length);

/* Part of a memory file or an ordinary one; `most` are the rights that can be granted. The
 * descriptor is duplicated. Seal the file against truncation: accesses behind a new end are faults
 * in domains, LG_E_LOST here, and SIGBUS at lg_region_address(). LG_E_FILE (a descriptor that is
 * not open for reading, too), LG_E_UNALIGNED, LG_E_UPGRADE (it is open for less, or sealed). */
lg_region *lg_region_from_file(int descriptor, uint64_t from, uint64_t length, lg_rights most);

/* Whole pages of one *shared* mapping of the host (mmap with MAP_SHARED). Private memory - heap,
 * stacks, static data - has no second address: LG_E_PRIVATE. No thread may unmap it before this
 * returns; afterwards any may. */
lg_region *lg_region_from_host(void *at, uint64_t length, lg_rights most);

/* Frees the handle. Grants keep the region alive; lg_region_address() is valid until the last of
 * them has gone. */
lg_status lg_region_free(lg_region *region);

/* Its properties. All are 0, with an error, for no region. */
uint64_t lg_region_length(lg_region *region);
uint64_t lg_region_offset(lg_region *region); /* in every window that has it */
lg_rights lg_region_rights(lg_region *region); /* the most that can be granted; 0 if there is no such region */
void *lg_region_address(lg_region *region);   /* where the host has it. Domains may change it at any time: copy, then check */

/* Copies out of a region, from byte `at` on, and into it. Reads each byte once; never raises
 * SIGBUS. LG_E_RANGE, LG_E_LOST, LG_E_UPGRADE. */
lg_status lg_region_read(lg_region *region, void *to, uint64_t at, size_t size);
lg_status lg_region_write(lg_region *region, uint64_t at, const void *from, size_t size);

/* Sleeps while the 32-bit word at byte `at` is `value`, for so many milliseconds at most (negative:
 * without end). lg_region_wake() ends the sleep, and so does a domain that may write to the region
 * (FUTEX_WAKE that is not private), or another process that has the memory. LG_OK also after a
 * signal, and if the word has another value: look again. LG_E_PENDING when the time is over. A
 * pthread_cancel() waits until it returns. LG_E_RANGE, LG_E_LOST. */
lg_status lg_region_wait(lg_region *region, uint64_t at, uint32_t value, int64_t milliseconds);

/* Wakes all threads, of the host and of domains, that sleep at the word at byte `at`. Returns how
 * many those were. Errors are those of lg_region_wait(). */
size_t lg_region_wake(lg_region *region, uint64_t at);

/* Has an eventfd (EFD_NONBLOCK) count each wake of the word at byte `at`, by a domain or by
 * lg_region_wake(): for hosts that wait for many things at once. -1: none any more. The library
 * duplicates it. One for each word, 64 for a region, none in a child of fork(). It counts no wakes
 * by another region of the same memory, and none that a thread's end causes (robust mutexes).
 * LG_E_RANGE, LG_E_FILE. */
lg_status lg_region_notify(lg_region *region, uint64_t at, int eventfd);

/* Shares the region with the domain. LG_E_OVERLAP, LG_E_TOO_MANY, LG_E_UPGRADE. Microseconds. */
lg_grant *lg_grant_new(lg_domain *domain, lg_region *region, lg_rights rights);

/* Gives another domain the same rights or fewer. Taking a right from the first also takes it from
 * the second. */
lg_grant *lg_grant_pass_on(lg_grant *grant, lg_domain *to, lg_rights rights);

/* Takes the right to write away, here and from all grants that were passed on from here, before
 * this returns. */
lg_status lg_grant_downgrade(lg_grant *grant, lg_rights to);

/* The rights that it gives now; 0, with LG_E_GRANT_REVOKED, if none. */
lg_rights lg_grant_rights(lg_grant *grant);

/* The module's pointer to byte `at` of the region: pass it to functions. NULL: LG_E_RANGE,
 * LG_E_GRANT_REVOKED. */
void *lg_grant_pointer(lg_grant *grant, uint64_t at);

/* Revokes it, with all that was passed on from it, before this returns, and frees the handle. */
lg_status lg_grant_free(lg_grant *grant);

/* Lends the region to the domain, for calls that this thread makes next: the same grant, with all
 * functions of grants. Free it when the calls have returned, however they did:
 *
 *     lg_grant *lent = lg_lend(parser, region, LG_READ);
 *     parse(lg_grant_pointer(lent, 0), size);
 *     lg_grant_free(lent);
 *
 * If a longjmp leaves such a call, it also leaves out your lg_grant_free(). Then the library
 * revokes the grant itself, at a later call of a domain or of lg_lend() by the thread. If the
 * function that lent the memory made the call that was left, the next such call by it or by one of
 * its callers revokes the grant. If a function that it had called made that call, only such a call
 * by one of its callers does, because the function itself may go on using the grant. At the latest
 * the end of the thread revokes it. Until then the domain has the memory: if that matters, call
 * lg_grant_free() where the jump arrives. Free the handle in any case; after the grant was revoked,
 * other functions of it are LG_E_GRANT_REVOKED. Errors are those of lg_grant_new(), and of a call
 * that cannot be made. */
lg_grant *lg_lend(lg_domain *domain, lg_region *region, lg_rights rights);

/* ---- Arenas ------------------------------------------------------------------------------------------------------- */

/* An arena is memory that the host shares with one domain or several for many calls, and an
 * allocator for it. To allocate, to pass a pointer and to free take some tens of nanoseconds
 * together, and no system call:
 *
 *     lg_arena *arena = lg_arena_new(1 << 20);
 *     char *inside = lg_arena_open(arena, parser, LG_READ);
 *     char *here = lg_arena_address(arena);
 *     ...
 *     char *text = lg_arena_alloc(arena, size);
 *     memcpy(text, line, size);
 *     parse(inside + (text - here), size);
 *     lg_arena_free(arena, text);
 *
 * A domain for which the arena is open reads all of it, and writes all of it with LG_READ_WRITE,
 * at any time until the arena is shut for it or closed: also blocks that were freed, and blocks of
 * other calls. Give an arena to domains that may see each other's blocks; for memory that a domain
 * may see during one call, use lg_lend(). A block has one offset in all windows that have the
 * arena, so a domain can store a pointer to it there, and another can follow it.
 *
 * The arena's own books lie in the host's memory, out of reach of domains. Contents of blocks can
 * change at any time: copy, then check the copy (lg_region_read() of lg_arena_region(), memcpy());
 * never check them in place.
 *
 * Threads may allocate and free in one arena at the same time. A forked child cannot use an arena
 * of its parent (LG_E_FORKED). No function of this section may be called in a signal handler. */

/* `length` bytes of zeros, rounded up to pages, all free. Errors and cost: lg_region_new(). */
lg_arena *lg_arena_new(uint64_t length);

/* Opens the arena for the domain, with these rights, until it is shut or closed, or the domain is
 * reset or gone. Returns the domain's address of the arena's first byte. NULL: LG_E_OVERLAP (it is
 * open for the domain), LG_E_TOO_MANY, LG_E_KILLED. Microseconds. */
void *lg_arena_open(lg_arena *arena, lg_domain *domain, lg_rights rights);

/* Takes it away from the domain before this returns. LG_E_NOT_OPEN. Microseconds. */
lg_status lg_arena_shut(lg_arena *arena, lg_domain *domain);

/* A block of `size` bytes, at a multiple of 64, or of `alignment`, a power of two up to 4096: the
 * host's address. Its contents are what was there before. NULL: LG_E_EMPTY for 0 bytes,
 * LG_E_ARENA_FULL, LG_E_ARGUMENT for another alignment. */
void *lg_arena_alloc(lg_arena *arena, size_t size);
void *lg_arena_alloc_aligned(lg_arena *arena, size_t size, size_t alignment);

/* Frees a block. LG_E_BLOCK if no block of this arena begins there: it was freed, or it belongs to
 * another arena. As with free(), do not free a block twice: if another block has been allocated at
 * the address since, that one is freed. NULL is no block, and no error. */
lg_status lg_arena_free(lg_arena *arena, void *block);

/* Frees all blocks. Domains keep the arena. */
lg_status lg_arena_reset(lg_arena *arena);

/* Takes the arena away from all domains before this returns, frees all blocks and the handle. The
 * host's memory of it goes, too, if no handle of lg_arena_region() is left. */
lg_status lg_arena_close(lg_arena *arena);

/* Bytes in no block (a block of so many may not fit), where the host has the first byte, and the
 * memory as a region, whose handle you free. 0 and NULL: there is no such arena. */
uint64_t lg_arena_room(lg_arena *arena);
void *lg_arena_address(lg_arena *arena);
lg_region *lg_arena_region(lg_arena *arena);

/* The domain's pointer to the `size` bytes that the host has at `at`, if they lie in one block of
 * an arena that is open for the domain with these rights. It needs no handle of the arena; costs
 * twice what an allocation does. NULL: LG_E_NOT_ARENA, LG_E_BLOCK (freed, or never allocated),
 * LG_E_RANGE (more than the block has), LG_E_NOT_OPEN, LG_E_UPGRADE, LG_E_GRANT_REVOKED. */
void *lg_arena_pointer(lg_domain *domain, const void *at, size_t size, lg_rights rights);

/* ---- Calls between domains ------------------------------------------------------------------------------------------- */

/* Says what a domain gets when its call of another fails: `value` in every register of a result; or
 * its own call ends as well, with LG_E_CALLEE. NULL in place of this structure stands for a value
 * with all bits set: -1, a NaN, a bad pointer. */
typedef struct lg_on_failure {
    int propagate;
    uint64_t value;
} lg_on_failure;

/* Answers the import of this domain's module with the server's export `name`: calls go there
 * directly from now on, on the caller's thread. With a name, both modules' notes must have the same
 * signature. In its place you may give the export's prototype; the notes that exist must agree with
 * it. One module's word never decides what is read and written of the other's memory. The server
 * lives until this domain ends or is reset: after that, the import is what the domain was made
 * with. LG_E_IMPORT, LG_E_NO_SIGNATURE, LG_E_SIGNATURE, LG_E_MISSING. */
lg_status lg_domain_link(lg_domain *domain, const char *import, lg_domain *server, const char *name, lg_policy policy,
                         const lg_on_failure *failure);

/* Makes the server's function callable by this domain through a pointer, as lg_callback_new() does
 * with the host's. Give the prototype: a name alone is LG_E_NO_SIGNATURE. */
lg_callback *lg_callback_to(lg_domain *domain, lg_domain *server, const char *prototype, lg_policy policy,
                            const lg_on_failure *failure);

/* ---- Registry -------------------------------------------------------------------------------------------------------- */

/* Entry points by name (docs/registry.md), for clients and servers that know nothing of each other.
 * In place of a registry, LG_PROCESS_REGISTRY is the process's own; in place of a principal,
 * LG_PROCESS is the process: its user and groups. */
#define LG_PROCESS_REGISTRY ((lg_registry *)2)
#define LG_PROCESS ((lg_principal *)3)
lg_registry *lg_registry_new(void);
lg_status lg_registry_free(lg_registry *registry);

/* A capability: its holders may bind what was exported for it. 128 random bits. */
typedef struct lg_token {
    unsigned char bits[16];
} lg_token;
lg_status lg_token_new(lg_token *token);

/* The party on whose behalf a name is bound. The host names it; a module cannot. (User and group
 * UINT32_MAX do not exist: LG_E_ARGUMENT.) */
lg_principal *lg_principal_nobody(void);
lg_principal *lg_principal_process(void);
lg_principal *lg_principal_user(uint32_t user);
lg_principal *lg_principal_domain(const char *name);
lg_status lg_principal_in_group(lg_principal *principal, uint32_t group); /* in that group, too */
lg_status lg_principal_with(lg_principal *principal, const lg_token *token);
lg_status lg_principal_free(lg_principal *principal);

/* An entry point to be exported under a name, with a version. No principal may bind it until one of
 * _allow_ says so. (A name that is empty, or has control characters, is LG_E_ARGUMENT when it is
 * exported.) */
lg_export *lg_export_new(const char *name, uint16_t major, uint16_t minor);
lg_status lg_export_of(lg_export *of, const char *prototype); /* which function of the domain; the one of the same name if not said */
lg_status lg_export_policy(lg_export *of, lg_policy policy);  /* what the server asks for in every call */
lg_status lg_export_allow_everyone(lg_export *of);
lg_status lg_export_allow_user(lg_export *of, uint32_t user);
lg_status lg_export_allow_group(lg_export *of, uint32_t group);
lg_status lg_export_allow_domain(lg_export *of, const char *name);
lg_status lg_export_allow_token(lg_export *of, const lg_token *token);
lg_status lg_export_free(lg_export *of);

/* Exports a function of the domain, which lives until its last name is unexported. LG_E_TAKEN,
 * LG_E_DOMAIN_TAKEN, LG_E_FULL, LG_E_MISSING, LG_E_NO_SIGNATURE. The export may be freed or used
 * again. */
lg_status lg_registry_export(lg_registry *registry, lg_domain *domain, lg_export *what);

/* Exports a function of the host to domains. As for lg_options_gate(); the name in the prototype
 * does not matter. */
lg_status lg_registry_export_host(lg_registry *registry, const char *prototype, lg_code function, void *user, lg_export *what);

/* Unexports every version of a name: no client can bind it any more; existing functions stay.
 * LG_E_UNKNOWN. */
lg_status lg_registry_unexport(lg_registry *registry, const char *name);

/* The same, and calls through existing functions return LG_E_REVOKED from now on, also through
 * those that were bound before the name was unexported, and exported again. Those in progress
 * finish, or end at once if `stop` is not 0. LG_E_UNKNOWN: it is not exported, and no client has it
 * any more. */
lg_status lg_registry_revoke(lg_registry *registry, const char *name, int stop);

/* Ends the domain of that name: its exports are revoked, calls in it end, and constructors of an
 * instance that is to take its place. LG_E_UNKNOWN_DOMAIN. */
lg_status lg_registry_remove(lg_registry *registry, const char *name);

/* The version that the client asks for: this major version with at least this minor one, or the
 * newest that has the client's signature. */
lg_request *lg_request_new(const char *name, uint16_t major, uint16_t minor);
lg_request *lg_request_newest(const char *name);
lg_status lg_request_wait(lg_request *request, uint64_t milliseconds); /* for the name to be exported */
lg_status lg_request_within(lg_request *request, uint64_t milliseconds, lg_expiry on_expiry); /* a limit of calls, as in lg_bind_within() */
lg_status lg_request_policy(lg_request *request, lg_policy policy);
lg_status lg_request_rebind(lg_request *request, int rebind); /* after a restart, calls go to the new instance */
lg_status lg_request_on_failure(lg_request *request, const lg_on_failure *failure);
lg_status lg_request_free(lg_request *request);

/* Binds a function of a domain for the host, with the exporter's signature, or only if it has the
 * client's. Without the client's signature, the exporter must have given the prototype
 * (lg_export_of), or the rule for names in lg_bind() applies: registers only, LG_E_NO_SIGNATURE.
 * LG_E_UNKNOWN, LG_E_LATE, LG_E_FORBIDDEN, LG_E_VERSION, LG_E_SIGNATURE, LG_E_HOST_FUNCTION,
 * LG_E_FULL. */
lg_function *lg_registry_bind(lg_registry *registry, lg_principal *principal, lg_request *request);
lg_function *lg_registry_bind_as(lg_registry *registry, lg_principal *principal, lg_request *request, const char *prototype);

/* Answers an import of the domain's module with what the request asks for. The import's note and
 * the exporter's signature must agree; without a note the exporter must have given the prototype:
 * LG_E_NO_SIGNATURE. */
lg_status lg_registry_link(lg_registry *registry, lg_domain *domain, const char *import, lg_principal *principal, lg_request *request);

/* Ends the domain of that name and puts a new one, of the same module with the same options, in its
 * place: its handle is returned. Its names stay exported. Functions go on, or return
 * LG_E_RESTARTED, as their requests said. LG_E_UNKNOWN_DOMAIN (also if it was removed at the same
 * time: then nothing is put in its place, even if another domain has the name), LG_E_TOO_OFTEN,
 * LG_E_RESTARTING. */
lg_domain *lg_registry_restart(lg_registry *registry, const char *name);

/* At most this many restarts in any time of this length; three a minute by default. */
lg_status lg_registry_limit_restarts(lg_registry *registry, const char *name, size_t most, uint64_t within_ms);

/* Names that are exported now, in order, with their versions, which may be NULL. */
lg_names *lg_registry_names(lg_registry *registry);
size_t lg_names_count(lg_names *names);
const char *lg_names_get(lg_names *names, size_t index, uint16_t *major, uint16_t *minor);
lg_status lg_names_free(lg_names *names);

/* ---- Other processes ------------------------------------------------------------------------------------------------- */

/* Functions by name for programs of other processes (docs/sharing.md). A process offers names of a
 * registry on a UNIX socket; others connect, bind by prototype, and call. Neither side trusts the
 * other: arguments, results and the memory between them are checked. A call takes as long as two
 * threads that wake each other, some microseconds. The one process:
 *
 *     lg_export_allow_user(what, geteuid());
 *     lg_registry_export(LG_PROCESS_REGISTRY, codec, what);
 *     lg_offer_function(offer, "codec.crc", "uint32_t crc(const uint8_t data[n], size_t n)");
 *     lg_served *served = lg_registry_serve(LG_PROCESS_REGISTRY, "/run/codec.share", offer);
 *
 * and the other one:
 *
 *     lg_remote *remote = lg_remote_connect("/run/codec.share", 100);
 *     lg_request *request = lg_request_newest("codec.crc");
 *     lg_remote_function *function =
 *         lg_remote_bind(remote, request, "uint32_t crc(const uint8_t data[n], size_t n)");
 *     uint32_t (*crc)(const uint8_t *, size_t) =
 *         (uint32_t (*)(const uint8_t *, size_t))lg_remote_pointer(function);
 *     uint32_t sum = crc(bytes, size);
 *     if (lg_failed() && lg_take_call_error() != LG_OK)
 *         fprintf(stderr, "%s\n", lg_last_message());
 *
 * Prototypes. Arguments and results are numbers, and structures without pointers. A parameter that
 * is declared as an array whose length is another parameter, `const uint8_t data[n], size_t n`, is
 * a *buffer*: its bytes go to the other process, and come back if its elements are not const. Any
 * other pointer is LG_E_PROTOTYPE, because an address of one process means nothing in another. The
 * arguments have at most 15 words of 8 bytes together, a result at most 2. Both sides say the
 * prototype, and must agree.
 *
 * Forked children have neither connections nor services of their parent's: LG_E_FORKED, and what a
 * child frees changes nothing for its parent. A child makes its own. (Until it ends or calls
 * exec(), it holds its parent's sockets open: a client sees the end of a server by the process.)
 *
 * Only lg_failed() and calls through pointers may be used in signal handlers: the calls fail there,
 * as those of domains. */

/* An offer, of nothing at first. All setters are cheap, and count for services that begin
 * afterwards. */
lg_offer *lg_offer_new(void);
lg_status lg_offer_free(lg_offer *offer);

/* Offers a name of the registry, whose function takes and returns values; by a prototype that says
 * lengths, one that takes buffers, too. The export of a name says who may bind it
 * (lg_export_allow_user() and others): the kernel tells the user and the group of the process that
 * asks. For a name that is not offered, all get LG_E_UNKNOWN. */
lg_status lg_offer_name(lg_offer *offer, const char *name);
lg_status lg_offer_function(lg_offer *offer, const char *name, const char *prototype);

/* Limits what clients may take: clients at once, and those of one user (32 and 8 by default); calls
 * that a client may make at once, each of which takes a thread of this process, and functions that
 * it may have bound (4 and 256); bytes of the buffers of a call (65536; at most 64 MiB).
 * LG_E_ARGUMENT: a number is 0. */
lg_status lg_offer_limit_clients(lg_offer *offer, uint32_t clients, uint32_t of_user);
lg_status lg_offer_limit_client(lg_offer *offer, uint32_t calls, uint32_t functions);
lg_status lg_offer_limit_bytes(lg_offer *offer, uint64_t bytes);

/* Offers names of the registry at `path`, from now on, on threads of the library. Names may be
 * exported before or afterwards. Only the user of this process reaches the socket, until you change
 * its mode. A socket on which no process listens any more is replaced. LG_E_TAKEN: a process
 * listens there. LG_E_LISTEN, LG_E_PROTOTYPE. The offer may be freed or used again. */
lg_served *lg_registry_serve(lg_registry *registry, const char *path, lg_offer *offer);

/* Ends it, and frees the handle: the socket goes, clients' calls end with LG_E_KILLED, and calls
 * that are in progress go on until they return, without a client. */
lg_status lg_served_free(lg_served *served);

/* Connects to the process that serves at `path`. A call may take so many milliseconds, and so may a
 * binding; with a negative number, a call takes as long as the other process lives, and a binding
 * five seconds. LG_E_CONNECT. (Whether the other process takes this client, the first binding
 * tells.) All threads may use one connection: each call in progress has memory of its own. */
lg_remote *lg_remote_connect(const char *path, int64_t time_limit_ms);

/* Frees the handle. Functions keep the connection. */
lg_status lg_remote_free(lg_remote *remote);

/* Binds what the request asks for: its name, its version, whether it waits and rebinds. Its policy
 * has no effect, because registers never reach another process. LG_E_UNKNOWN, LG_E_LATE,
 * LG_E_FORBIDDEN, LG_E_VERSION, LG_E_SIGNATURE, LG_E_PROTOTYPE, LG_E_REFUSED, LG_E_CLOSED,
 * LG_E_PROTOCOL, LG_E_FORKED. After LG_E_CLOSED, LG_E_PROTOCOL, and LG_E_LATE by the time limit
 * connect again. A round trip on the socket: some tens of microseconds. */
lg_remote_function *lg_remote_bind(lg_remote *remote, lg_request *request, const char *prototype);

/* Frees the handle. Calls in progress go on. A call through its pointer then fails with LG_E_GONE,
 * or calls a function that has got the pointer since. */
lg_status lg_remote_function_free(lg_remote_function *function);

/* Its prototype, with typedefs resolved, and the name of its domain, as the other process says. */
const char *lg_remote_function_prototype(lg_remote_function *function);
const char *lg_remote_function_domain(lg_remote_function *function);

/* Calls it, as lg_call() does. The argument for a buffer is an LG_BUFFER with exactly as many bytes
 * as its length says; one whose elements are not const is written when the call has returned.
 * Results, and what was written, are the other process's word: check them. Errors: those of calls;
 * LG_E_FAULT (lg_last_fault() has kind and report; by the time limit LG_FAULT_TIME_OUT, and the
 * call goes on in the other process until a limit of its domain ends it), LG_E_KILLED (the other
 * process has ended, too), LG_E_RESTARTED, LG_E_THREADS (as many calls of this client as there may
 * be), LG_E_CLOSED, LG_E_LATE, LG_E_PROTOCOL. lg_failed() is not affected. */
lg_status lg_remote_call(lg_remote_function *function, const lg_value *arguments, size_t count, lg_value *result);

/* The function as a C function pointer of the prototype's type, for any thread, as long as the
 * handle lives. Pass pointers to the program's own memory for buffers: as many elements as the
 * length says are read, and written if they are not const. After each call, lg_failed() tells
 * whether it returned; where it did not, no buffer was written, and the result is 0. A process can
 * have 256 such pointers at once: LG_E_NO_POINTERS. */
lg_code lg_remote_pointer(lg_remote_function *function);

/* ---- Exports of a process ----------------------------------------------------------------------------------------------- */

typedef struct lg_observed_binding {
    const char *client;
    const char *policy;
    int is_counted;
    int is_timed;
    uint64_t calls;   /* if they are counted */
    uint64_t mean_ns; /* if they are timed */
} lg_observed_binding;

typedef struct lg_observed_export {
    const char *name;
    const char *version;
    const char *server;    /* the domain, or "host" */
    const char *signature;
    const char *policy;
    const char *allowed;
    const lg_observed_binding *bindings;
    size_t binding_count;
} lg_observed_export;

/* Reads what a process exports now, and which clients have bound it, as lockgate-ps(1) does. The
 * caller needs the right to trace the process. LG_E_NO_PROCESS, LG_E_PERMISSION, LG_E_NO_EXPORTS,
 * LG_E_LAYOUT. */
lg_observed *lg_observe(uint32_t pid);
size_t lg_observed_count(lg_observed *observed);
const lg_observed_export *lg_observed_get(lg_observed *observed, size_t index);
lg_status lg_observed_free(lg_observed *observed);

/* ---- Asynchronous calls ---------------------------------------------------------------------------------------------- */

/* Threads that make calls for other threads (docs/limits.md), and for each domain a queue of at
 * most `capacity` calls that have not begun. LG_E_OPTION: a number is 0, or more than 4096 threads.
 * */
lg_workers *lg_workers_new(size_t threads, size_t capacity);

/* Calls that have not ended. */
size_t lg_workers_pending(lg_workers *workers);

/* Waits until every call has ended, and frees the handle. Not from a worker. */
lg_status lg_workers_finish(lg_workers *workers);

/* Cancels what has not ended, waits for the threads, and frees the handle. Not from a worker. */
lg_status lg_workers_free(lg_workers *workers);

/* Makes a worker call the function, with a deadline this many milliseconds from now; 0: no
 * deadline. The library copies arguments, not the memory that pointers lead to. LG_E_QUEUE_FULL,
 * LG_E_ARGUMENT. A microsecond. */
lg_async *lg_call_async(lg_function *function, lg_workers *workers, uint64_t deadline_ms, const lg_value *arguments, size_t count);

/* Makes a worker run `work(user)`, which counts as a call of the domain. Use it for calls of
 * several functions that belong together. Its return value is the result, as LG_SIGNED. When it is
 * cancelled, calls that it makes end with LG_FAULT_STOPPED; `work` must handle the rest, and its
 * return value does not count. It may end its thread (pthread_exit): LG_E_CALLBACK. */
typedef int (*lg_work)(void *user);
lg_async *lg_spawn(lg_domain *domain, lg_workers *workers, uint64_t deadline_ms, lg_work work, void *user);

/* Waits for the end, at most this many milliseconds, or without end if the number is negative.
 * Fills in the result as lg_call() does, of the type that result->type says; for another type it
 * returns LG_E_ARGUMENT immediately and takes nothing. LG_E_PENDING if the call goes on;
 * LG_E_CANCELLED, LG_E_DEADLINE, or errors of calls. In the call itself, on its worker, a wait
 * without end is LG_E_DEADLOCK. You can take a result once: LG_E_ARGUMENT afterwards. */
lg_status lg_async_wait(lg_async *call, int64_t milliseconds, lg_value *result);

/* Not 0 if the call has ended. */
int lg_async_has_ended(lg_async *call);

/* Cancels the call. If it has not begun, it never begins; if it is in progress, it is stopped as by
 * a time limit. Other calls are not affected. */
lg_status lg_async_cancel(lg_async *call);

/* Calls `notify(user)` once when the call has ended: from a worker; from here if it has ended
 * already; or from lg_async_cancel(), lg_workers_finish() or lg_workers_free() if these end it
 * before it has begun. You may ask several times for one call, and cannot take a request back:
 * `user` must be valid until each was answered. `notify` must not wait for anything. Where it does
 * not run on a worker, it must not end its thread: the requests after it would get no answer. Most
 * event loops want a write to an eventfd. */
typedef void (*lg_notify)(void *user);
lg_status lg_async_notify(lg_async *call, lg_notify notify, void *user);

/* Frees the handle. The call goes on, and its result is lost. */
lg_status lg_async_free(lg_async *call);

/* ---- Pools ----------------------------------------------------------------------------------------------------------- */

/* Domains of one module with the same options, at most `capacity` of them kept ready, pristine. */
lg_pool *lg_pool_new(lg_module *module, lg_options *options, size_t capacity);

/* A pristine domain: one that is ready (a microsecond), or a new one. lg_domain_free() resets it
 * and gives it back to the pool if you have freed all of its functions; otherwise it lives as long
 * as these, as any domain does, and does not go back. */
lg_domain *lg_pool_take(lg_pool *pool);

/* How many are ready. */
size_t lg_pool_ready(lg_pool *pool);

/* Frees the handle. Domains that you took live on. */
lg_status lg_pool_free(lg_pool *pool);

/* ---- Programs -------------------------------------------------------------------------------------------------------- */

/* Runs a whole program, whose module has a main, to its end on this thread; its exit status goes to
 * `status`. LG_E_ARGUMENT if the module has no main, errors of lg_domain_new(), LG_E_FAULT. */
lg_status lg_run(lg_module *module, lg_options *options, int *status);

/* ---- Safe dlopen -------------------------------------------------------------------------------------------------- */

/* Modules in place of dlopen's libraries (docs/dlopen.md). A program that uses dlopen changes four
 * names and builds its plugins with `lockgate cc -shared`. Each plugin gets a domain of its own; a
 * plugin that crashes, loops or writes where it should not ends the call and nothing else.
 *
 *     void *plugin = lg_dlopen("./plugin.so", RTLD_NOW);
 *     int (*run)(int) = plugin ? (int (*)(int))lg_dlsym_typed(plugin, "int run(int)") : NULL;
 *     if (!run)
 *         return fprintf(stderr, "%s\n", lg_dlerror()), 1;
 *     errno = 0;
 *     if (run(7) == -1 && errno != 0)
 *         fprintf(stderr, "%s\n", lg_last_message());
 *
 * Results of failed calls. A failed call returns -1 (all bits set, a NaN for floating-point
 * results), NULL for pointers, 0 for bool, zeros for structures in memory; or what lg_dlfailure()
 * or the options say. It sets errno: EFAULT (a crash, and any error without a number here),
 * ETIMEDOUT (a time limit), ECANCELED (killed, or closed during the call), ESTALE (closed, revoked
 * or restarted before), ENOMEM, ENOSYS (an import that nothing answers), EAGAIN, EBUSY, EDEADLK, or
 * EPERM (in a signal handler, in a forked child, or on a thread that is ending). The thread's last
 * error says more: lg_last_status(), lg_last_message(), lg_last_fault(). The library calls the
 * handler of lg_on_fault() before the caller gets its value. If the call was made in a signal
 * handler, the last error does not change, and no handler is called. Do not use lg_failed() and
 * lg_take_call_error() for these pointers: their proxies have taken the error already. A call that
 * returns does not change errno, because the module has an errno of its own.
 *
 * A plugin cannot follow pointers of the host's. Memory for it to read or write lies on its own
 * heap (lg_malloc()) or is exposed to it (lg_expose()). The host can follow pointers that the
 * plugin returns, but they are *the plugin's word*: they may lead anywhere, and the memory behind
 * them may change at any moment. Check them (lg_memory_check(), lg_owner()), copy once, then look
 * at the copy.
 *
 * Several modules, one heap. A plugin that was linked with `lockgate cc -shared --join base.so` has
 * no libc: it takes that from base.so, which was linked with --base, and the library opens it in
 * the domain of base.so. Both share one heap, one errno, and all pointers that they pass. `into` of
 * lg_dlopen_with() is the base. Without it lg_dlopen() opens a base for the plugin alone, unless
 * you have the base open (LG_E_JOIN: a file does not choose whose memory it shares). In any case it
 * first opens other modules that the plugin was linked with. They stay open as long as the plugin;
 * a later open of the same files gives other instances, unless `into` is the plugin. A build of the
 * base other than the one that was linked with is LG_E_JOIN; so is a plugin that can touch
 * processor state that calls of the domain do not keep (lg_options_full_xstate()). When such a
 * plugin is closed, its calls end, and its memory stays until its domain ends. A fault in one of
 * them is a fault of their domain: they are not protected from each other.
 *
 * The host cannot call function pointers of the plugin's, in a table for example, directly: see
 * lg_dlfunc().
 *
 * Signatures. Look functions up by their prototypes, with lg_dlsym_typed(): then you decide what a
 * call does to your memory. lg_dlsym() is for programs that do not know them. A module that was
 * compiled with -g, or linked with prototypes, says itself what its functions are, and may lie; so
 * its word counts only if arguments and result travel in registers, and a function that it says
 * needs more is an error (LG_E_NO_SIGNATURE). Where the module says nothing, a *generic* proxy
 * passes all six integer and eight vector argument registers and `stack_bytes` of the caller's
 * stack, and returns rax, rdx, xmm0 and xmm1. It cannot know which registers are arguments: under
 * any policy, the plugin can see all values that the caller has left in argument registers and in
 * those bytes of the stack. A generic proxy cannot return a structure of more than 16 bytes, nor
 * pass one of 32 bytes in a vector register. A proxy of lg_dlsym_typed() passes exactly the
 * arguments.
 *
 * All these functions are thread-safe. Constructors and destructors run on the thread that opens or
 * closes, inside the domain. A thread that opens the same file meanwhile waits for the
 * constructors, at most for the timeout in its options (LG_E_BUSY); no other thread waits. Two
 * threads that would wait for each other's constructors do not: one gets LG_E_DEADLOCK. Cost: to
 * open a module that was verified before takes some 20 microseconds, the first time some
 * milliseconds for each megabyte; lg_dlsym() takes a microsecond for a new symbol, then some
 * hundred nanoseconds; calls are as in lg_function_pointer(). */

/* Opens a module: `file` is a path if it has a slash; else it is looked for in the folders of
 * lg_dlpath() or $LG_LIBRARY_PATH, then in /usr/local/lib/lockgate and /usr/lib/lockgate. Flags are
 * those of <dlfcn.h>: RTLD_NOW (imports are answered at once, or it is not opened) or RTLD_LAZY
 * (each at its first call); RTLD_GLOBAL (imports of others find its functions, once its
 * constructors have run), RTLD_NOLOAD, RTLD_NODELETE. A file that is open already is the same
 * handle, once more. NULL stands for everything that is open with RTLD_GLOBAL. Returns NULL on
 * failure: lg_dlerror(). */
void *lg_dlopen(const char *file, int flags);

/* How lg_dlopen_with() opens. Zeros are sensible: LG_MUTUAL_TRUST, no stack bytes, a timeout of ten
 * seconds for constructors. */
typedef struct lg_dl_options {
    lg_options *domain;   /* limits and grants of its domain, and what answers its imports; or NULL */
    lg_policy policy;     /* what the host asks for in calls; LG_DEFAULT is what lg_dlopen() does */
    uint32_t stack_bytes; /* of the caller's stack, for functions without a signature; at most 4096 */
    uint32_t timeout_ms; /* for all constructors of one opening, and for a library's destructors, if the domain has no shorter time limit; 0: 10000 */
    int has_failure;
    uint64_t failure;     /* what failing calls return, if has_failure is not 0 */
    void *into;           /* a library that is open, whose domain the module is to join; or NULL */
} lg_dl_options;

/* The same with options, which count if the file was not open. */
void *lg_dlopen_with(const char *file, int flags, const lg_dl_options *options, size_t size);

/* A function by its name, to be cast to its type, if arguments and result travel in registers
 * (LG_E_NO_SIGNATURE else: lg_dlsym_typed). Data is an error, because the library itself says
 * whether a name is data or a function: use lg_dlsym_data(). The handle may be NULL (RTLD_DEFAULT):
 * the first library open with RTLD_GLOBAL that has the symbol. A function pointer stays callable
 * for as long as the process lives: when the library was closed, a call is an error (ESTALE), or
 * leads to the same function of the same module, if that was opened and the symbol looked up
 * again. */
void *lg_dlsym(void *handle, const char *symbol);

/* A function by its prototype ("double cbrt(double)"), which must agree with the module's note, if
 * it has one. */
lg_code lg_dlsym_typed(void *handle, const char *prototype);

/* Data that can be read and written, and its size in bytes; NULL for constants and code, which
 * lg_peek() or a function of the library reads. Valid until the library is closed. The library may
 * give up its right to write there: use lg_poke(), which returns an error then. */
void *lg_dlsym_data(void *handle, const char *symbol, size_t *size);

/* A function pointer that the library gave, made callable; with its prototype, or NULL. Only the
 * beginnings of the library's own functions can be called, whatever it gives: otherwise NULL. */
lg_code lg_dlfunc(void *handle, const void *address, const char *prototype);

/* Closes the library once. The last close ends the library if no open library calls it: its
 * destructors run, and calls in progress on other threads end with an error. A thread that is about
 * to enter a service may still do so for a moment after lg_dlclose() has returned, so keep what
 * services use. lg_dlclose() may block up to 20 ms when many closed libraries wait for their end.
 * In an exclusive domain that is busy it waits before the destructors, for twice the library's
 * timeout. It returns 0, or -1 if the handle is not open. The handler and the last error report an
 * error in a destructor; the close goes on. At the end of the process destructors do not run: close
 * libraries that need them. */
int lg_dlclose(void *handle);

/* Says once what went wrong in the thread's last lg_ call of this section: NULL if nothing went
 * wrong since the last time. Valid until the next such call. */
const char *lg_dlerror(void);

/* Folders to search, colons between, in place of $LG_LIBRARY_PATH (which is ignored in set-user-ID
 * programs). */
int lg_dlpath(const char *folders);

/* Sets what calls of a function return when they fail; for all functions, and those looked up
 * later, if `symbol` is NULL. */
int lg_dlfailure(void *handle, const char *symbol, uint64_t value);

/* Sets a handler, which the library calls after each call that failed, on the caller's thread, when
 * the thread's last error is set. NULL: no handler. The strings are valid until the handler
 * returns; it must not leave by longjmp. */
typedef void (*lg_dl_handler)(const char *library, const char *symbol, void *user);
void lg_on_fault(lg_dl_handler handler, void *user);

/* Room on the library's heap, which both sides can read and write; freed by lg_free(), or by the
 * library's own free(). NULL if the heap has none left, or if the library's malloc returns an
 * address that is not memory of its own (LG_E_INACCESSIBLE). Some microseconds, and some ten
 * nanoseconds for each page, because this function touches each page. The room is there when it
 * returns. While code of the library runs (a thread that it has started with
 * lg_options_max_guest_threads(), or a call of yours), that code can unmap it, and then the host's
 * own access is a fault of the host's. If a library may do so, reach its memory by lg_peek() and
 * lg_poke(). */
void *lg_malloc(void *handle, size_t size);
int lg_free(void *handle, void *at);

/* Copies `size` bytes from or to the library's memory, once. -1 if they are not all its own, or not
 * accessible. Follow pointers that the library gave in this way. */
int lg_peek(void *handle, void *to, const void *from, size_t size);
int lg_poke(void *handle, void *to, const void *from, size_t size);

/* Makes a function of the host callable by the library through a pointer, which stays as long as
 * the library. Pass this pointer in place of the function's own address. As lg_gate(), with a
 * prototype. */
void *lg_dlcallback(void *handle, const char *prototype, lg_code function, void *user);

/* Exposes memory of the host's to the library: whole pages of one mapping made with MAP_SHARED.
 * Returns where the library finds it. */
void *lg_expose(void *handle, void *at, size_t length, int rights);

/* Takes the memory back: no access of the library to it succeeds after this has returned. */
int lg_hide(void *handle, void *at);

/* Offers a *service*: a function of the host that libraries call by name, having declared it
 * (`lockgate cc --gate`). To one library, or, if the handle is LG_ALL, to all, also those that are
 * open: an import is answered when RTLD_NOW opens, or at its first call. By name alone, it gets its
 * arguments as the library's note says, in registers only. In it lg_user_data() is `user`, and
 * lg_caller() the library. Arguments are the library's word: check them. lg_ungate() takes back
 * what all libraries were offered: none finds it any more, and those that have found it keep it, so
 * the function and `user` must stay as long as these are open. */
#define LG_ALL ((void *)4)
int lg_gate(void *handle, const char *prototype, lg_code function, void *user);
int lg_ungate(const char *name);

/* The library that has called the service in which the thread is, or NULL: the one whose code the
 * service returns to. (Modules of one domain can call in each other's name.) While its destructors
 * run, its handle leads to its memory and symbols as before; to close it again is LG_E_HANDLE. */
void *lg_caller(void);

/* The open library whose memory an address is, or NULL. */
void *lg_owner(const void *at);

/* Structures and enumerations are those that the library was compiled with. If this does not
 * compile, the program's compiler makes others of them: -fpack-struct, -fshort-enums, or a #pragma
 * pack that a header before this one has left behind. */
typedef char lg_structures_are_as_in_the_library[sizeof(lg_status) == 4 && sizeof(lg_value) == 32 &&
                                                 sizeof(lg_on_failure) == 16 ? 1 : -1];

/* ---- Implementation of what is inline ------------------------------------------------------------------------------- */

/* Of the thread: not 0 if its last call through a function pointer did not return. For
 * lg_failed(). */
__extension__ extern __thread uint64_t lg_call_failed __attribute__((tls_model("initial-exec")));

static __inline__ int lg_failed(void) {
    return __builtin_expect(lg_call_failed != 0, 0);
}

#ifdef __cplusplus
}
#endif

#endif
