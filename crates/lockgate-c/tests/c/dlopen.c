/* Modules with dlopen's manners. */
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

/* A symbol as a function of a type: ISO C knows no cast from data to functions. */
#define AS(type, pointer) (as_##type(pointer))
#define TYPE(type)                                                                                        \
    static type as_##type(void *pointer) {                                                                \
        type function;                                                                                    \
        CHECK(pointer);                                                                                   \
        memcpy(&function, &pointer, sizeof function);                                                     \
        return function;                                                                                  \
    }

typedef int (*number)(int);
typedef void (*taker)(int *);
typedef int (*reader)(const int *);
typedef int (*applier)(number, int);
TYPE(number)
TYPE(taker)
TYPE(reader)
TYPE(applier)

static int faults;
static void told(const char *library, const char *symbol, void *user) {
    CHECK(strcmp(library, "guest.lg") == 0 && strcmp(symbol, "crash") == 0);
    CHECK(lg_last_status() == LG_E_FAULT);
    ++*(int *)user;
}

static __thread int leaves;
static int begun, ended;

static int host_add(int a, int b) {
    begun += a == 1;
    ended += a == 3;
    if (leaves == a)
        pthread_exit(NULL);

    CHECK(lg_caller());
    if (a == 3 && b == 4) { /* first.lg's destructor: what was closed can still be looked into, and not closed again */
        int *begun_there = (int *)lg_dlsym_data(lg_caller(), "begun", NULL), seen = 0;
        CHECK(begun_there && lg_owner(begun_there) == lg_caller());
        CHECK(lg_peek(lg_caller(), &seen, begun_there, sizeof seen) == 0 && seen == 3);
        CHECK(lg_dlclose(lg_caller()) == -1 && lg_last_status() == LG_E_HANDLE && lg_dlerror());
    }
    CHECK(strcmp((const char *)lg_user_data(), "adds") == 0);
    return a + b;
}

static void host_note(const char *text) {
    char copy[6];
    CHECK(lg_peek(lg_caller(), copy, text, sizeof copy) == 0);
}

static int triple(int x) { return 3 * x; }

static void offer(void) {
    CHECK(!lg_dlopen("./guest.lg", RTLD_NOW)); /* its imports are not answered */
    CHECK(strstr(lg_dlerror(), "undefined symbol: host_add"));
    CHECK(!lg_dlerror()); /* once */
    static char adds[] = "adds";
    CHECK(lg_gate(LG_ALL, "int host_add(int, int)", (lg_code)host_add, adds) == 0);
    CHECK(lg_gate(LG_ALL, "host_note", (lg_code)host_note, NULL) == 0);
    CHECK(lg_gate(LG_ALL, "int f(", (lg_code)host_add, NULL) == -1);
    CHECK(lg_gate(LG_ALL, "f", NULL, NULL) == -1);
    CHECK(lg_gate(LG_ALL, "gone", (lg_code)host_add, NULL) == 0);
    void *failed = lg_dlopen("./no-such.lg", RTLD_NOW); /* offers nothing to anybody */
    CHECK(!failed && lg_gate(failed, "leaked", (lg_code)host_add, NULL) == -1 && lg_last_status() == LG_E_HANDLE);
    CHECK(lg_ungate("leaked") == -1);
    CHECK(lg_ungate("gone") == 0 && lg_ungate("gone") == -1);
    CHECK(!lg_caller());
}

static void symbols(void *guest) {
    number same = AS(number, lg_dlsym(guest, "same"));
    CHECK(same(7) == 7);
    CHECK(AS(number, lg_dlsym(guest, "same")) == same);
    lg_code typed = lg_dlsym_typed(guest, "int same(int)");
    CHECK(((number)typed)(8) == 8);
    CHECK(!lg_dlsym_typed(guest, "double same(double)"));
    CHECK(strstr(lg_dlerror(), "signatures differ"));
    CHECK(!lg_dlsym(guest, "smae"));
    CHECK(strstr(lg_dlerror(), "undefined symbol: smae (did you mean same?)"));
    CHECK(!lg_dlsym(guest, NULL));
    CHECK(!lg_dlsym(RTLD_NEXT, "same"));
    CHECK(!lg_dlsym(RTLD_DEFAULT, "same")); /* it is local */
    size_t size = 0;
    int *answer = (int *)lg_dlsym_data(guest, "answer", &size);
    CHECK(answer && *answer == 42 && size == sizeof *answer);
    CHECK(lg_owner(answer) == guest && !lg_owner(&size));
    CHECK(!lg_dlsym(guest, "answer")); /* the program would call it */
    CHECK(strstr(lg_dlerror(), "lg_dlsym_data"));
    CHECK(!lg_dlsym(guest, "fill") && lg_last_status() == LG_E_NO_SIGNATURE);
    CHECK(strstr(lg_dlerror(), "lg_dlsym_typed"));
    CHECK(!lg_dlsym(guest, "sum9") && lg_dlsym_typed(guest, "struct { long numbers[5]; } fill(long)"));
    CHECK(!lg_dlsym_data(guest, "same", &size));
    CHECK(!lg_dlfunc(guest, answer, NULL)); /* data is no function */
    CHECK(!lg_dlfunc(guest, &size, NULL));
}

static void failures(void *guest) {
    taker crash = AS(taker, lg_dlsym(guest, "crash"));
    reader read_int = AS(reader, lg_dlsym(guest, "read_int"));
    lg_on_fault(told, &faults);
    errno = 0;
    crash(NULL);
    CHECK(errno == EFAULT && faults == 1 && lg_last_fault() && !lg_failed());
    SAYS("null pointer");
    lg_on_fault(NULL, NULL);
    lg_clear_error();
    CHECK(read_int(NULL) == -1 && lg_last_status() == LG_E_FAULT && faults == 1);
    CHECK(lg_dlfailure(guest, "read_int", 12) == 0 && read_int(NULL) == 12);
    CHECK(lg_dlfailure(guest, "nothing", 1) == -1);
    CHECK(lg_dlfailure(guest, NULL, 13) == 0 && read_int(NULL) == 13);
}

static void memory(void *guest) {
    char *text = (char *)lg_malloc(guest, 16), copy[16];
    CHECK(text && lg_owner(text) == guest);
    CHECK(lg_poke(guest, text, "inside", 7) == 0);
    CHECK(lg_peek(guest, copy, text, 7) == 0 && strcmp(copy, "inside") == 0);
    CHECK(lg_peek(guest, copy, copy, 7) == -1); /* the host's own */
    CHECK(lg_poke(guest, NULL, copy, 7) == -1);
    CHECK(lg_peek(guest, copy, text - ((uintptr_t)text & 0xffffffff) + 0xfffffffe, 7) == -1); /* across the end */
    CHECK(lg_free(guest, text) == 0 && lg_free(guest, NULL) == 0);
    int *pages = (int *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    *pages = 5;
    int *inside = (int *)lg_expose(guest, pages, 8192, LG_READ);
    CHECK(inside && *inside == 5);
    CHECK(!lg_expose(guest, pages, 8192, 7) && !lg_expose(guest, copy, 1, LG_READ));
    CHECK(lg_hide(guest, pages) == 0 && lg_hide(guest, pages) == -1);
    void *inside_triple = lg_dlcallback(guest, "int triple(int)", (lg_code)triple, NULL);
    CHECK(AS(applier, lg_dlsym(guest, "apply"))(AS(number, inside_triple), 5) == 16);
    CHECK(!lg_dlcallback(guest, "int triple(", (lg_code)triple, NULL));
}

/* Room is room: whatever the library's own malloc says, the host can write there, or gets nothing. */
static void wild(void) {
    void *library = lg_dlopen("./wild.lg", RTLD_NOW);
    CHECK(library);
    void (*set_mode)(int) = (void (*)(int))lg_dlsym_typed(library, "void set_mode(int)");
    CHECK(set_mode);
    for (int mode = 1; mode < 7; mode++) {
        set_mode(mode);
        lg_clear_error();
        char *at = (char *)lg_malloc(library, 8192);
        if (at)
            memset(at, 1, 8192);
        else
            CHECK(lg_last_status() == LG_E_INACCESSIBLE);
        CHECK(!at || mode == 2); /* whatever lies there */
    }
    set_mode(0);
    CHECK(!lg_malloc(library, 8192) && lg_last_status() == LG_E_NO_MEMORY);
    set_mode(7);
    char *room = (char *)lg_malloc(library, 4 * 4096);
    CHECK(room && lg_owner(room) == library);
    memset(room, 1, 4 * 4096);
    CHECK(lg_dlclose(library) == 0);
}

/* Calls in a signal handler are refused without a word: what it interrupted may hold any lock, and has a last error of its own. */
static number in_handler;
static volatile int handlers, answered, seen;
static void on_signal(int number) {
    errno = 0;
    answered = in_handler(7);
    seen = errno;
    handlers += number == SIGUSR1;
}

static int raised(int x) {
    raise(SIGUSR1);
    return x;
}

static void signal_handlers(void *guest) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    taker crash = AS(taker, lg_dlsym(guest, "crash"));
    in_handler = (number)lg_dlsym_typed(guest, "int same(int)");
    faults = 0;
    lg_on_fault(told, &faults);
    crash(NULL);
    const char *message = lg_last_message();
    CHECK(faults == 1 && raise(SIGUSR1) == 0);
    CHECK(handlers == 1 && seen == EPERM);
    /* In a call, too. */
    void *inside = lg_dlcallback(guest, "int raised(int)", (lg_code)raised, NULL);
    CHECK(AS(applier, lg_dlsym(guest, "apply"))(AS(number, inside), 5) == 6);
    CHECK(handlers == 2 && seen == EPERM);
    CHECK(faults == 1 && lg_last_status() == LG_E_FAULT && lg_last_message() == message && !lg_failed());
    lg_on_fault(NULL, NULL);
}

/* Two modules in one domain. */
static void join(void) {
    lg_options *wide = lg_options_new();
    CHECK(lg_options_full_xstate(wide) == LG_OK);
    lg_dl_options options = {wide, LG_DEFAULT, 0, 0, 0, 0, NULL};
    void *base = lg_dlopen_with("./base.lg", RTLD_NOW, &options, sizeof options);
    CHECK(base && lg_options_free(wide) == LG_OK);
    options.domain = NULL;
    CHECK(!lg_dlopen("./part.lg", RTLD_NOW) && lg_last_status() == LG_E_JOIN);
    CHECK(strstr(lg_dlerror(), "would share the memory of base.lg"));
    options.into = base;
    CHECK(!lg_dlopen_with("./guest.lg", RTLD_NOW, &options, sizeof options) && lg_last_status() == LG_E_JOIN);
    void *part = lg_dlopen_with("./part.lg", RTLD_NOW, &options, sizeof options);
    CHECK(part && part != base);
    CHECK(AS(number, lg_dlsym(part, "make"))(77) == 77);
    CHECK(lg_dlclose(base) == 0); /* which the other one needs */
    CHECK(AS(number, lg_dlsym(base, "drop"))(0) == 77);
    CHECK(lg_dlclose(part) == 0 && lg_dlclose(base) == -1);
    options.into = base;
    CHECK(!lg_dlopen_with("./part.lg", RTLD_NOW, &options, sizeof options) && lg_last_status() == LG_E_HANDLE);
    part = lg_dlopen("./part.lg", RTLD_NOW); /* and its base */
    CHECK(part && lg_dlclose(part) == 0);
    lg_module *alone = lg_module_open("part.lg");
    CHECK(alone && !lg_domain_new(alone, NULL) && lg_last_status() == LG_E_JOIN);
    CHECK(lg_module_free(alone) == LG_OK);
}

/* A service ends the thread that opens a library, in a constructor, or the one that closes it, in a destructor: nobody waits for that thread,
 * and what was on its way is closed. */
static void *open_and_leave(void *unused) {
    leaves = 1;
    CHECK(!lg_dlopen("./first.lg", RTLD_NOW));
    CHECK(!"pthread_exit returned");
    return unused;
}

static void *close_and_leave(void *library) {
    leaves = 3;
    CHECK(!lg_dlclose(library));
    CHECK(!"pthread_exit returned");
    return NULL;
}

static void leaving(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        begun = ended = 0;
        CHECK(pthread_create(&thread, NULL, open_and_leave, NULL) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(begun == 1 && !lg_dlopen("./first.lg", RTLD_NOW | RTLD_NOLOAD));
        void *library = lg_dlopen("./first.lg", RTLD_NOW);
        CHECK(library && begun == 2 && AS(number, lg_dlsym(library, "value"))(0) == 3);
        CHECK(pthread_create(&thread, NULL, close_and_leave, library) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(ended == 1 && lg_dlclose(library) == -1);
        library = lg_dlopen("./first.lg", RTLD_NOW);
        CHECK(library && begun == 3 && lg_dlclose(library) == 0 && ended == 2);
    }
}

int main(void) {
    offer();
    leaving();
    join();
    void *guest = lg_dlopen("./guest.lg", RTLD_NOW);
    CHECK(guest && lg_dlopen("./guest.lg", RTLD_LAZY) == guest);
    CHECK(lg_dlopen(NULL, RTLD_NOW) && lg_dlclose(lg_dlopen(NULL, RTLD_NOW)) == 0);
    CHECK(!lg_dlopen("./guest.lg", 0) && strstr(lg_dlerror(), "invalid mode"));
    CHECK(!lg_dlopen("./no-such.lg", RTLD_NOW) && lg_dlerror());
    CHECK(lg_dlpath(".") == 0 && lg_dlpath(NULL) == -1);
    CHECK(lg_dlopen("guest.lg", RTLD_NOW | RTLD_NOLOAD) == guest);
    symbols(guest);
    failures(guest);
    memory(guest);
    signal_handlers(guest);
    wild();

    number same = AS(number, lg_dlsym(guest, "same"));
    for (int i = 0; i < 3; i++)
        CHECK(lg_dlclose(guest) == 0);
    CHECK(lg_dlclose(guest) == -1 && lg_last_status() == LG_E_HANDLE);
    errno = 0;
    CHECK(same(7) == 13 && errno == ESTALE && lg_last_status() == LG_E_GONE);
    lg_clear_error();
    in_handler = same;
    raise(SIGUSR1);
    CHECK(handlers == 3 && answered == 13 && seen == EPERM && lg_last_status() == LG_OK);
    CHECK(!lg_dlsym(guest, "same") && !lg_dlsym((void *)(uintptr_t)64, "same"));

    lg_dl_options options = {NULL, LG_DEFAULT, 16, 500, 1, 99, NULL};
    CHECK(!lg_dlopen_with("./guest.lg", RTLD_NOW, &options, sizeof options + 1));
    guest = lg_dlopen_with("./guest.lg", RTLD_NOW | RTLD_GLOBAL, &options, sizeof options);
    CHECK(AS(reader, lg_dlsym(RTLD_DEFAULT, "read_int"))(NULL) == 99);
    options.stack_bytes = 1 << 20;
    CHECK(!lg_dlopen_with("./hostile.lg", RTLD_LAZY, &options, sizeof options));
    CHECK(lg_dlclose(guest) == 0);
    return 0;
}
