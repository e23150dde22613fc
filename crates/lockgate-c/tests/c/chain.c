/* Handlers of faults around the library, in a process that has it once or twice: what the host's own fault comes to, in which order.
 * chain none|jumps|returns STEPS PLUGIN...; what happens is said on stdout. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                                                  \
    do {                                                                                                  \
        if (!(condition)) {                                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                       \
            _exit(1);                                                                                     \
        }                                                                                                 \
    } while (0)

typedef void action(int, siginfo_t *, void *);

void *noted(int signal, siginfo_t *info, void *context);
int through(int signal, siginfo_t *info, void *context, void *handler);
void goes_on(int signal, siginfo_t *info, void *context);

/* through() calls a handler as C calls a function, and says whether the registers are kept that a function keeps. goes_on() is a
 * reporter that jumps to the handler before it, as compilers have a function end with a call. */
__asm__(".text\n"
        ".globl through\n"
        "through:\n"
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\nsub $8,%rsp\n"
        "mov $0x11,%ebx\nmov $0x22,%ebp\nmov $0x33,%r12d\nmov $0x44,%r13d\nmov $0x55,%r14d\nmov $0x66,%r15d\n"
        "call *%rcx\n"
        "xor %eax,%eax\n"
        "cmp $0x11,%rbx\njne 1f\ncmp $0x22,%rbp\njne 1f\ncmp $0x33,%r12\njne 1f\n"
        "cmp $0x44,%r13\njne 1f\ncmp $0x55,%r14\njne 1f\ncmp $0x66,%r15\njne 1f\n"
        "inc %eax\n"
        "1:\n"
        "add $8,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
        ".globl goes_on\n"
        "goes_on:\n"
        "push %rdi\npush %rsi\npush %rdx\n"
        "call noted\n"
        "pop %rdx\npop %rsi\npop %rdi\n"
        "test %rax,%rax\njz 1f\njmp *%rax\n"
        "1: ret\n");

static struct sigaction before;
static sigjmp_buf jump;
int __sigaction(int signal, const struct sigaction *new_one, struct sigaction *old);
static volatile int *page;

static void say(const char *what) {
    CHECK(write(1, what, strlen(what)) == (ssize_t)strlen(what));
}

/* As crash reporters do: note it, then the handler that was before. */
void *noted(int signal, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    say("reporter\n");
    if (before.sa_flags & SA_SIGINFO) {
        void *handler;
        memcpy(&handler, &before.sa_sigaction, sizeof handler);
        return handler;
    }
    CHECK(before.sa_handler == SIG_DFL);
    CHECK(sigaction(signal, &before, NULL) == 0);
    return NULL;
}

static void calls(int signal, siginfo_t *info, void *context) {
    void *handler = noted(signal, info, context);
    CHECK(!handler || through(signal, info, context, handler));
}

static void jumps(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    say("first\n");
    siglongjmp(jump, 1);
}

static void returns(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    say("first\n");
    CHECK(info->si_addr == (void *)page);
    CHECK(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void install(action *handler, struct sigaction *old) {
    struct sigaction new_one;
    memset(&new_one, 0, sizeof new_one);
    new_one.sa_sigaction = handler;
    new_one.sa_flags = SA_SIGINFO | SA_ONSTACK;
    CHECK(sigaction(SIGSEGV, &new_one, old) == 0);
}

struct plugin {
    int (*start)(void), (*same)(int), (*crash)(void), (*claim)(void);
} plugins[2];
static int started;

static struct plugin loaded(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    struct plugin plugin;
    *(void **)&plugin.start = dlsym(library, "plugin_start");
    *(void **)&plugin.same = dlsym(library, "plugin_same");
    *(void **)&plugin.crash = dlsym(library, "plugin_crash");
    *(void **)&plugin.claim = dlsym(library, "plugin_claim");
    return plugin;
}

static void *call_all(void *argument) {
    for (int i = 0; i < started; i++)
        CHECK(plugins[i].same(i + 7) == i + 7);
    return argument;
}

int main(int argc, char **argv) {
    CHECK(argc == 4 || argc == 5);
    page = (volatile int *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(argv[1], "jumps"))
        install(jumps, NULL);
    if (!strcmp(argv[1], "returns"))
        install(returns, NULL);
    pthread_t thread;
    struct sigaction none;
    for (const char *step = argv[2]; *step; step++) {
        switch (*step) {
        case 's': /* another plugin starts */
            CHECK(started < argc - 3);
            plugins[started] = loaded(argv[3 + started]);
            CHECK(plugins[started].start());
            CHECK(plugins[started].same(5) == 5);
            started++;
            break;
        case 'r': /* a reporter comes, or comes again */
            install(calls, &before);
            break;
        case 'R':
            install(goes_on, &before);
            break;
        case 'c':
            for (int i = 0; i < started; i++)
                CHECK(plugins[i].claim() == 0);
            break;
        case 't': /* a new thread calls */
            CHECK(pthread_create(&thread, NULL, call_all, NULL) == 0);
            pthread_join(thread, NULL);
            break;
        case 'p': /* past the library: no handler */
            memset(&none, 0, sizeof none);
            CHECK(__sigaction(SIGSEGV, &none, NULL) == 0);
            break;
        case 'd': /* a domain's fault */
            for (int i = 0; i < started; i++)
                CHECK(plugins[i].crash() != 0);
            say("domain\n");
            break;
        case 'h': /* the host's own */
            if (!sigsetjmp(jump, 1))
                *page = 1;
            say("on\n");
            CHECK(mprotect((void *)page, 4096, PROT_NONE) == 0);
            break;
        default:
            CHECK(0);
        }
    }
    return 0;
}
