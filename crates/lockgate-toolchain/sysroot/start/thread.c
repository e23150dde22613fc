/* Thread-local storage of a host thread inside the module (lockgate_abi::symbol::THREAD_INIT, THREAD_EXIT): what pthread_create
   does before clone and pthread_exit before the exit system call, without a stack, which the runtime provides. And what is left there of
   a first thread that has ended (THREAD_RENEW), and by a call that was ended in its midst (THREAD_MEND). */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../libc/biased.h"
#include "../libc/call.h"
#include "../libc/musl.h"

/* The lock of the thread list, and what a thread cleans up at its end. libc.a has them in members that a module links only if it
   needs them (for the lock: pthread_create's, 18 kB of code), and weak empty ones elsewhere, which do nothing. These here are weak
   as well, but come first: they give way to the real ones, and to nothing else. */
static volatile int thread_list[1];

__attribute__((weak)) void __tl_lock(void) { __lock(thread_list); }
__attribute__((weak)) void __tl_unlock(void) { __unlock(thread_list); }
__attribute__((weak)) void __pthread_tsd_run_dtors(void) {}
__attribute__((weak)) void __do_orphaned_stdio_locks(void) {}
__attribute__((weak)) void __dl_thread_cleanup(void) {}

/* Thread-specific values: as many as there are keys, or none. */
__attribute__((weak)) volatile size_t __pthread_tsd_size;
/* The first thread's, where there are any. */
__attribute__((weak)) extern void *__pthread_tsd_main[];

static struct lg_pthread *first;
static void *first_locale;

/* Constructors run on the first thread, after its thread pointer is set. */
__attribute__((constructor)) static void remember_first(void) {
    first = lg_self();
    /* As pthread_create does: pthread_key_delete goes through those of all threads. */
    if (__pthread_tsd_main && !first->tsd) first->tsd = __pthread_tsd_main;
    first_locale = first->locale;
}

/* Ends the bias of locks towards the first thread (libc/biased.h). Several threads may come at once: each makes sure for itself,
   until one has. */
static int share_locks(void) {
    if (lg_bias.shared == LG_SHARED) return 0;
    lg_bias.shared = LG_ENDING;
    long result = lg_call3(SYS_membarrier, LG_MEMBARRIER, 0, 0);
    if (result < 0) return (int)result;
    /* A few instructions of the first thread's, unless it was interrupted there, or its call was ended. */
    static const struct timespec while_it_goes_on = {0, 20000};
    for (int tries = 0; lg_bias.busy; tries++) {
        if (tries < 100) lg_call3(SYS_nanosleep, (long)&while_it_goes_on, 0, 0);
        else lg_wait_for_lock(&lg_bias.busy, 1);
    }
    lg_bias.shared = LG_SHARED;
    return 0;
}

int _lg_thread_init(void) {
    int result = share_locks();
    if (result < 0) return result;
    size_t size = __libc.tls_size + __pthread_tsd_size;
    long memory = lg_call6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory < 0 && memory > -4096) return (int)memory;
    struct lg_pthread *self = __copy_tls((unsigned char *)memory + __pthread_tsd_size);
    if (__init_tp(self) < 0) return -ENOSYS;
    self->map_base = (unsigned char *)memory;
    self->map_size = size;
    self->tsd = (void **)memory;
    self->canary = first->canary;

    __tl_lock();
    __libc.threads_minus_1++;
    self->next = first->next;
    self->prev = first;
    self->next->prev = self;
    first->next = self;
    __tl_unlock();
    return 0;
}

static void clean_up(void) {
    __pthread_tsd_run_dtors();
    __do_orphaned_stdio_locks();
    __dl_thread_cleanup();
}

void _lg_thread_exit(void) {
    struct lg_pthread *self = lg_self();
    clean_up();

    __tl_lock();
    __libc.threads_minus_1--;
    self->next->prev = self->prev;
    self->prev->next = self->next;
    __tl_unlock();
    lg_call3(SYS_munmap, (long)self->map_base, self->map_size, 0);
}

/* The first thread's storage stays where it is, for the next thread, which finds it as a new one does. */
void _lg_thread_renew(long cleans_up) {
    struct lg_pthread *self = lg_self();
    if (cleans_up) clean_up();
    if (self->tsd) memset(self->tsd, 0, __pthread_tsd_size);
    self->tsd_used = self->dlerror_flag = 0;
    self->errno_value = self->h_errno_value = 0;
    self->cancel = self->canceldisable = self->cancelasync = 0;
    self->cancelbuf = 0;
    self->robust_list.head = &self->robust_list.head;
    self->robust_list.offset = 0; /* the next thread tells the runtime of its list again */
    self->robust_list.pending = 0;
    self->locale = first_locale;
    self->dlerror_buf = 0;
    self->stdio_locks = 0;
    for (struct lg_tls *one = __libc.tls_head; one; one = one->next) {
        char *at = (char *)self - one->offset;
        memcpy(at, one->image, one->len);
        memset(at + one->len, 0, one->size - one->len);
    }
}

/* What libraries of languages keep of the exceptions and panics that are in progress on a thread (lockgate-rewrite, src/in_progress.rs): a
   variable of so many bytes, from the thread pointer on; or, if there are none, the function that returns where C++ keeps them, from here on. */
struct in_progress { int32_t place; uint32_t size; };
extern const struct in_progress __lg_in_progress_start[], __lg_in_progress_end[];

/* As the C++ ABI has it. */
struct exceptions { void *caught; unsigned uncaught; };

/* The thread's last call was ended in its midst, and it is in no other: what was in progress then is over. (What an exception itself holds is
   lost, as other memory is that the call had.) 0: no library here keeps any, and the host need not ask again. */
int _lg_thread_mend(void) {
    for (const struct in_progress *one = __lg_in_progress_start; one < __lg_in_progress_end; one++) {
        if (one->size) {
            memset((char *)lg_self() + one->place, 0, one->size);
            continue;
        }
        struct exceptions *(*where)(void) = (struct exceptions *(*)(void))((const char *)one + one->place);
        struct exceptions *exceptions = where();
        if (exceptions) exceptions->caught = 0, exceptions->uncaught = 0;
    }
    return __lg_in_progress_start != __lg_in_progress_end;
}
