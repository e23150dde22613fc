/* One attack of tests/attacks on the installed library, as the scenario that its attack.toml names. Says how it ended: a line with the kind, then
 * what belongs to it. Harm to the host is said instead, and is the program's failure. */
#define _GNU_SOURCE
#include "state.h"
#include <dirent.h>
#include <fcntl.h>
#include <lockgate.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WINDOW 0x200000000ul /* a domain's stride */
#define MOST_MAPPINGS 2200   /* far more than a domain needs */

typedef unsigned long word;
typedef long (*six_words)(word, word, word, word, word, word);

static struct {
    const char *folder, *file, *function;
    int count;
    char **words;
    lg_options *options;
} given;

static word secret[512];
static volatile int reached;
static long out_of_reach(void) { return reached = 1; }

static lg_domain *neighbour;
static void *neighbours;
static word pattern[512];

/* Blocks that nobody uses: malloc keeps them in different places. */
static const size_t sizes[] = {64, 4096, 1 << 16, 1 << 18, 1 << 20};
enum { BLOCKS = sizeof sizes / sizeof *sizes };
static char *blocks[BLOCKS];

static _Noreturn void harm(const char *what) {
    printf("HARM: %s\n", what);
    exit(1);
}
/* What the attack rests on is not so: it was not tried. */
static _Noreturn void broken(int line, const char *what) {
    printf("BROKEN: attack.c:%d: %s: %s\n", line, what, lg_last_message());
    exit(1);
}
#define NEED(what) ((what) ? (void)0 : broken(__LINE__, #what))

/* ---- How it ends ---- */

static const char *const kinds[] = {"none",  "segv",     "bus",  "fpe",   "ill",    "trap",   "stack_overflow", "control_stack_overflow",
                                    "quota", "time_out", "exit", "abort", "signal", "killed", "cpu_time",       "stopped", "gate"};
static const char *const accesses[] = {"", "read", "write", "execute"};

static char ending[1 << 16] = "nothing\n";
static int is(const char *said) { return strcmp(ending, said) == 0; }

static void returned(long value) { snprintf(ending, sizeof ending, "returned\n%ld\n", value); }

/* The host is told no; or its call fails. */
static void refused(void) { snprintf(ending, sizeof ending, "refused\n%s\n", lg_last_message()); }
static void failed(void) {
    const lg_fault *fault = lg_last_fault();
    if (!fault)
        refused();
    else
        snprintf(ending, sizeof ending, "fault\n%s\n%s\n%s\n%s\n", kinds[fault->kind], accesses[fault->access],
                 fault->function ? fault->function : "", fault->report);
}

/* ---- What the host loses nothing of ---- */

/* Calls `see` with each mapping of the domain's; the result is how many there are. */
static int mappings(lg_domain *domain, void (*see)(word from, word to, const char *rights)) {
    word base = lg_domain_base(domain), from, to;
    char line[512], rights[5];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    NEED(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && from >= base && from < base + WINDOW) {
            count++;
            if (see)
                see(from, to, rights);
        }
    fclose(maps);
    return count;
}

static void see_no_secret(word from, word to, const char *rights) {
    if (rights[0] == '-' && rights[1] == '-' && rights[2] == '-')
        return;
    static char piece[1 << 20];
    const size_t more = sizeof secret[0] - 1; /* it may lie across two pieces */
    int memory = open("/proc/self/mem", O_RDONLY);
    for (word at = from; at < to; at += sizeof piece - more) {
        ssize_t length = pread(memory, piece, to - at < sizeof piece ? to - at : sizeof piece, (off_t)at);
        if (length <= 0)
            break; /* beyond the end of a granted file */
        if (memmem(piece, (size_t)length, secret, sizeof secret[0]))
            harm("the secret lies in the domain");
    }
    close(memory);
}

/* What of the process is no domain's business. */
static const char *process(void) {
    static const char *const lines[] = {"Umask:", "Uid:", "Gid:", "SigBlk:", "CapEff:", "NoNewPrivs:", "Seccomp:", "TracerPid:"};
    static const char *const files[] = {"/proc/thread-self/status", "/proc/self/limits", "/proc/self/personality", "/proc/self/oom_score_adj"};
    char folder[4096], line[512], *state = NULL;
    size_t size;
    FILE *into = open_memstream(&state, &size);
    NEED(into && getcwd(folder, sizeof folder) && fprintf(into, "current directory: %s\n", folder) > 0);
    for (int i = 0; i < 4; i++) {
        FILE *file = fopen(files[i], "r");
        NEED(file);
        while (fgets(line, sizeof line, file)) {
            int wanted = i;
            for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
                wanted |= strncmp(line, lines[k], strlen(lines[k])) == 0;
            if (wanted)
                fputs(line, into);
        }
        fclose(file);
    }
    NEED(fclose(into) == 0);
    return state;
}
static const char *before;

/* R11: what is installed is right behind a slow path and a call. */
static void look_at_handlers(void) {
    for (int number = 1; number < 65; number++) {
        struct {
            word handler, flags, restorer, mask;
        } now = {0};
        if (syscall(SYS_rt_sigaction, number, NULL, &now, 8) == 0 && now.handler > (word)SIG_IGN && !(now.flags & SA_ONSTACK))
            harm("a handler of the host's has no alternate stack");
    }
}

static void look_for_harm(void) {
    for (int i = 0; i < 512; i++)
        if (secret[i] != secret[511])
            harm("the host's memory has changed");
    for (int i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (blocks[i][k] != 0x5a)
                harm("memory of the host was changed");
    const char *after = process();
    if (strcmp(before, after) != 0) {
        printf("before: %safter: %s", before, after);
        harm("the process was changed");
    }
    if (reached)
        harm("code of the host has run");
    static word now[512];
    NEED(lg_memory_read(neighbour, now, neighbours, sizeof now) == LG_OK);
    if (memcmp(now, pattern, sizeof now) != 0)
        harm("the neighbour's memory has changed");
    lg_function *answer = lg_bind(neighbour, "long answer(long)", LG_DEFAULT);
    NEED(answer);
    if (((long (*)(long))lg_function_pointer(answer))(41) != 42 || lg_failed())
        harm("the neighbour does not answer");
    lg_function_free(answer);
    look_at_handlers();
}

/* ---- Calls ---- */

static word aim(const char *text, word own, lg_domain *domain) {
    const word low = 0xffffffff;
    if (strcmp(text, "secret") == 0)
        return (word)secret;
    if (strcmp(text, "lucky") == 0)
        return ((word)secret & ~low) | (own & low);
    if (strcmp(text, "unlucky") == 0)
        return ((word)secret & ~low) | 0x1230;
    if (strcmp(text, "code") == 0)
        return (word)out_of_reach;
    if (strcmp(text, "neighbour") == 0)
        return (word)neighbours;
    if (strcmp(text, "own") == 0)
        return own;
    return strcmp(text, "window") == 0 ? lg_domain_base(domain) : strtoul(text, NULL, 0);
}

static lg_function *bound(lg_domain *domain, const char *function) {
    char prototype[256];
    snprintf(prototype, sizeof prototype, "long %s(long, long, long, long, long, long)", function);
    return lg_bind(domain, prototype, LG_MUTUAL_DISTRUST);
}

static void call(lg_domain *domain, const char *function, const word *words) {
    lg_function *attack = bound(domain, function);
    if (!attack)
        return refused();
    long value;
    const char *changed = changed_by(lg_function_pointer(attack), words, &value);
    if (changed)
        harm(changed);
    if ((word)value == secret[0])
        harm("the module has returned the secret");
    if (lg_failed() && lg_take_call_error())
        failed();
    else
        returned(value);
    lg_function_free(attack);
    mappings(domain, see_no_secret);
}

static void attack_of(lg_domain *domain) {
    static const char zeros[4096];
    word words[6] = {0}, own = 0;
    for (int i = 0; i < given.count; i++)
        if (!own && (strcmp(given.words[i], "own") == 0 || strcmp(given.words[i], "lucky") == 0)) {
            /* The module's own allocator: it may be the attack. */
            own = (word)lg_memory_alloc_copy(domain, zeros, sizeof zeros);
            if (!own)
                return refused();
        }
    for (int i = 0; i < given.count; i++)
        words[i] = aim(given.words[i], own, domain);
    call(domain, given.function, words);
}

/* ---- Scenarios, as in tests/attacks/src/scenarios ---- */

static lg_module *module;

/* NULL, and how it ended, if there is no domain. */
static lg_domain *attacker(void) {
    lg_domain *domain = lg_domain_new(module, given.options);
    if (!domain)
        refused();
    return domain;
}

static void plain(void) {
    lg_domain *domain = attacker();
    if (domain)
        attack_of(domain);
}

static void grant(void) {
    char data[4096], fixed[4096];
    snprintf(data, sizeof data, "%s/granted", given.folder);
    snprintf(fixed, sizeof fixed, "%s/fixed", given.folder);
    NEED(lg_options_directory(given.options, "/data", data, 1) == LG_OK && lg_options_directory(given.options, "/fixed", fixed, 0) == LG_OK);
}

static void granted(void) {
    grant();
    plain();
}

static void *helper(void *over) {
    lg_function *function = lg_bind(*(lg_domain **)over, "long helper(void)", LG_DEFAULT);
    NEED(function);
    long (*help)(void) = (long (*)(void))lg_function_pointer(function);
    for (*(lg_domain **)over = NULL; !__atomic_load_n((void **)over, __ATOMIC_RELAXED);) {
        help();
        if (lg_failed())
            break;
    }
    return NULL;
}
static void two_threads(void) {
    grant();
    lg_domain *domain = attacker(), *over = domain;
    NEED(domain);
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, helper, &over) == 0);
    while (__atomic_load_n(&over, __ATOMIC_RELAXED))
        sched_yield();
    attack_of(domain);
    __atomic_store_n(&over, domain, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void plant(lg_domain *domain) {
    static word planted[4096];
    for (int i = 0; i < 4096; i++)
        planted[i] = 0x5ec2e7c0ffee5ec2ul;
    lg_function *function = bound(domain, "plant");
    NEED(function);
    const word secrets = planted[0];
    long value = ((six_words)lg_function_pointer(function))(secrets, secrets, secrets, secrets, secrets, secrets);
    NEED(!lg_failed() && value != -1 && lg_memory_alloc_copy(domain, planted, sizeof planted));
    NEED(lg_function_free(function) == LG_OK);
}
static void after_a_reset(void) {
    grant();
    lg_domain *domain = attacker();
    NEED(domain);
    plant(domain);
    NEED(lg_domain_reset(domain) == LG_OK);
    attack_of(domain);
    if (!is("returned\n0\n"))
        return;
    lg_pool *pool = lg_pool_new(module, given.options, 1);
    domain = pool ? lg_pool_take(pool) : NULL;
    NEED(domain);
    plant(domain);
    NEED(lg_domain_free(domain) == LG_OK && lg_pool_ready(pool) == 1);
    domain = lg_pool_take(pool);
    NEED(domain);
    attack_of(domain);
}
static void next_domain(void) {
    lg_domain *domain = lg_domain_new(module, NULL);
    NEED(domain);
    plant(domain);
    word base = lg_domain_base(domain);
    lg_domain_free(domain);
    domain = attacker();
    NEED(domain && lg_domain_base(domain) == base);
    attack_of(domain);
}
static void *plants(void *domain) {
    plant(domain);
    return NULL;
}
static void *attacks(void *domain) {
    attack_of(domain);
    return NULL;
}
static void next_thread(void) {
    lg_domain *domain = attacker();
    NEED(domain);
    void *(*const work[])(void *) = {plants, attacks};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, work[i], domain) == 0 && pthread_join(thread, NULL) == 0);
    }
}

/* Threads of this process that the module has started. */
static int its_threads(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    NEED(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file))
            count += strncmp(name, "lockgate-atta", 13) == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}
static void guest_threads(void) {
    NEED(lg_options_max_guest_threads(given.options, 4) == LG_OK);
    lg_domain *domain = attacker();
    NEED(domain);
    attack_of(domain);
    lg_domain_free(domain);
    while (its_threads()) /* for ever, if they stay: the tests' timeout has an end */
        sched_yield();
}

static void few_mappings(void) {
    lg_domain *domain = attacker();
    NEED(domain);
    attack_of(domain);
    if (mappings(domain, NULL) > MOST_MAPPINGS)
        harm("the domain has used up the process's mappings");
}

static void hostile_allocator(void) {
    lg_domain *domain = attacker();
    NEED(domain);
    attack_of(domain);
    char bytes[64];
    memset(bytes, 0xa5, sizeof bytes);
    if (lg_memory_alloc_copy(domain, bytes, sizeof bytes))
        harm("the host has written where the module's allocator said");
    refused();
}

static lg_domain *recursing;
static long again(void) {
    lg_function *function = lg_bind(recursing, "long attack(void)", LG_DEFAULT);
    NEED(function);
    long value = ((long (*)(void))lg_function_pointer(function))();
    if (lg_failed())
        value = lg_take_call_error() != LG_E_TOO_DEEP;
    return value;
}
static void recursion_through_the_host(void) {
    NEED(lg_options_gate(given.options, "long host(void)", (lg_code)again, NULL) == LG_OK);
    recursing = attacker();
    NEED(recursing);
    attack_of(recursing);
}

/* A host that knows nothing of the module binds its export as the module's note has it. */
static void bind_as_noted(void) {
    lg_domain *domain = attacker();
    NEED(domain);
    for (size_t i = 0; i < lg_module_export_count(module); i++)
        if (strcmp(lg_module_export_name(module, i), "attack") == 0) {
            if (lg_bind(domain, lg_module_export_prototype(module, i), LG_DEFAULT))
                returned(0);
            else
                refused();
            return;
        }
    NEED(!strcmp(given.function, "one of the module's exports"));
}

/* The host has its secret in every register that carries no argument, in vectors to their last bit. */
static void secrets_in_registers(void) {
    lg_domain *domain = attacker();
    static const char zeros[4096];
    NEED(domain && __builtin_cpu_supports("avx2"));
    word own = (word)lg_memory_alloc_copy(domain, zeros, sizeof zeros);
    lg_function *function = lg_bind(domain, "long attack(long)", LG_MUTUAL_DISTRUST);
    NEED(own && function);
    lg_code attack = lg_function_pointer(function);
    ((long (*)(long))attack)((long)own); /* so that the next one takes the quick way in */
    NEED(!lg_failed());
    register word value __asm__("rax") = secret[0];
    register lg_code quick __asm__("r11") = attack;
    /* (This function calls others, so rsp is aligned, and nothing lies below it.) */
    __asm__ volatile("push %%rbp\n\tpush %%rbp\n\tmov %%rax, %%rbx\n\tmov %%rax, %%rbp\n\tvmovq %%rax, %%xmm0\n\tvpbroadcastq %%xmm0, %%ymm0\n\t"
                     "vmovdqa %%ymm0, %%ymm1\n\tvmovdqa %%ymm0, %%ymm2\n\tvmovdqa %%ymm0, %%ymm3\n\tvmovdqa %%ymm0, %%ymm4\n\t"
                     "vmovdqa %%ymm0, %%ymm5\n\tvmovdqa %%ymm0, %%ymm6\n\tvmovdqa %%ymm0, %%ymm7\n\tvmovdqa %%ymm0, %%ymm8\n\t"
                     "vmovdqa %%ymm0, %%ymm9\n\tvmovdqa %%ymm0, %%ymm10\n\tvmovdqa %%ymm0, %%ymm11\n\tvmovdqa %%ymm0, %%ymm12\n\t"
                     "vmovdqa %%ymm0, %%ymm13\n\tvmovdqa %%ymm0, %%ymm14\n\tvmovdqa %%ymm0, %%ymm15\n\t"
                     "mov %%rax, %%rcx\n\tmov %%rax, %%rdx\n\tmov %%rax, %%rsi\n\tmov %%rax, %%r8\n\tmov %%rax, %%r9\n\tmov %%rax, %%r10\n\t"
                     "mov %%rax, %%r12\n\tmov %%rax, %%r13\n\tmov %%rax, %%r14\n\tmov %%rax, %%r15\n\t"
                     "call *%%r11\n\tvzeroupper\n\tpop %%rbp\n\tpop %%rbp"
                     : "+r"(value), "+D"(own), "+r"(quick)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
    long result = (long)value;
    NEED(!lg_failed());
    returned(result);
    mappings(domain, see_no_secret);
}

/* The host computes on the x87 right before. */
static void host_uses_the_x87(void) {
    lg_domain *domain = attacker();
    lg_function *function = domain ? lg_bind(domain, "long attack(void)", LG_MUTUAL_DISTRUST) : NULL;
    NEED(function);
    long (*attack)(void) = (long (*)(void))lg_function_pointer(function);
    attack();
    NEED(!lg_failed());
    __asm__ volatile("fldl %0\n\tfstp %%st(0)" : : "m"(secret[0]) : "st");
    long value = attack();
    NEED(!lg_failed());
    returned(value);
}

/* A registry in which the neighbour serves `answer`. The attacker's host exports and binds whatever the attacker asks for. */
static lg_registry *registry;
static const char *const answer_of = "long answer(long)";
static lg_status export(lg_domain *domain, const char *name, int major, int minor, const char *prototype, const char *for_whom) {
    lg_export *what = lg_export_new(name, (uint16_t)major, (uint16_t)minor);
    if (!what)
        return lg_last_status();
    NEED(lg_export_of(what, prototype) == LG_OK);
    NEED((for_whom ? lg_export_allow_domain(what, for_whom) : lg_export_allow_everyone(what)) == LG_OK);
    lg_status status = lg_registry_export(registry, domain, what);
    lg_export_free(what);
    return status;
}
static lg_domain *names(const char *for_whom) {
    registry = lg_registry_new();
    NEED(registry && export(neighbour, "answer", 1, 0, answer_of, for_whom) == LG_OK);
    lg_domain *domain = attacker();
    NEED(domain);
    return domain;
}
static lg_function *bind_name(lg_principal *who, const char *name) { return lg_registry_bind_as(registry, who, lg_request_newest(name), answer_of); }
static long ask(lg_principal *who, const char *name) {
    lg_function *function = bind_name(who, name);
    NEED(function);
    long value = ((long (*)(long))lg_function_pointer(function))(41);
    NEED(!lg_failed());
    return value;
}

/* The same name again, in every version in which somebody might look for it. */
static void names_squatting(void) {
    static const int versions[][2] = {{1, 0}, {1, 1}, {0, 9}, {2, 0}, {65535, 65535}};
    lg_domain *domain = names(NULL);
    for (int i = 0; i < 5; i++) {
        if (export(domain, "answer", versions[i][0], versions[i][1], "long attack(long)", NULL) == LG_OK)
            harm("the attacker exports the neighbour's name");
        refused();
    }
    char refusal[sizeof ending];
    memcpy(refusal, ending, sizeof refusal);
    if (ask(lg_principal_nobody(), "answer") != 42)
        harm("whoever asks for the name gets another function");
    memcpy(ending, refusal, sizeof ending);
}

/* Names that a reader takes for it. They are names of their own; refused or not: the question is who is called. */
static void names_look_alike(void) {
    static const char *const alike[] = {"Answer", "answer ", " answer", "answer\xe2\x80\x8b", "\xd0\xb0nswer", "answer@2", "answer(long)", "../answer"};
    lg_domain *domain = names(NULL);
    for (int i = 0; i < 8; i++)
        export(domain, alike[i], 9, 0, "long attack(long)", NULL);
    returned(ask(lg_principal_nobody(), "answer"));
}

/* The name is for others. */
static void names_a_name_for_others(void) {
    static const char *const near[] = {"answe", "answers", "Answer"};
    names("friend");
    lg_principal *attacking = lg_principal_domain("attacker");
    for (int i = 0; i < 3; i++) {
        if (bind_name(attacking, near[i]))
            harm("a name that nobody exports was bound");
        if (strstr(lg_last_message(), "\"answer\""))
            harm("who may not bind the name is told of it");
    }
    if (bind_name(attacking, "answer"))
        harm("the attacker binds a name that is for others");
    refused();
}

static void into(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/outside/%s", given.folder, name);
    FILE *file = fopen(path, "w");
    NEED(file && fputs("666", file) >= 0 && fclose(file) == 0);
}
/* Of controls: a step that only an attacker would take who has got out. */
static void trip(void) {
    static const word none[6];
    const char *step = given.function, *changed = NULL;
    lg_domain *domain = attacker();
    long value;
    NEED(domain);
    if (strcmp(step, "registers") == 0)
        changed = changed_by(rude, none, &value);
    else if (strcmp(step, "x87") == 0)
        changed = changed_by(rude_with_the_x87, none, &value);
    else if (strcmp(step, "memory") == 0)
        blocks[4][77] ^= 1;
    else if (strcmp(step, "umask") == 0)
        umask(0);
    else if (strcmp(step, "directory") == 0)
        NEED(chdir("/") == 0);
    else if (strcmp(step, "secret") == 0)
        secret[100] = 0;
    else if (strcmp(step, "code") == 0)
        out_of_reach();
    else if (strcmp(step, "neighbour") == 0)
        NEED(lg_memory_write(neighbour, neighbours, "6", 1) == LG_OK);
    else if (strcmp(step, "neighbour-dead") == 0)
        lg_domain_kill(neighbour);
    else if (strcmp(step, "learned") == 0)
        NEED(lg_memory_alloc_copy(domain, secret, sizeof secret[0]));
    else if (strcmp(step, "file-changed") == 0)
        into("secret.txt");
    else if (strcmp(step, "file-added") == 0)
        into("more.txt");
    else
        abort();
    if (changed)
        harm(changed);
    mappings(domain, see_no_secret);
    returned(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"-", plain},
    {"after-a-reset", after_a_reset},
    {"bind-as-noted", bind_as_noted},
    {"few-mappings", few_mappings},
    {"granted", granted},
    {"host-uses-the-x87", host_uses_the_x87},
    {"hostile-allocator", hostile_allocator},
    {"names-a-name-for-others", names_a_name_for_others},
    {"names-look-alike", names_look_alike},
    {"names-squatting", names_squatting},
    {"next-domain", next_domain},
    {"next-thread", next_thread},
    {"own-threads", guest_threads},
    {"recursion-through-the-host", recursion_through_the_host},
    {"secrets-in-registers", secrets_in_registers},
    {"trip", trip},
    {"two-threads", two_threads},
};

extern void (*host_late)(void); /* host.c */

/* FOLDER SCENARIO FILE FUNCTION MILLISECONDS WORD...; in FOLDER lie the folders that scenarios grant. */
int attack(int count, char **words) {
    given.folder = words[0], given.file = words[2], given.function = words[3];
    given.count = count - 5, given.words = words + 5;
    NEED(given.count <= 6 && getrandom(secret, sizeof secret[0], 0) == sizeof secret[0]);
    for (int i = 0; i < 512; i++)
        secret[i] = secret[0], pattern[i] = 0x5afe5afe5afe5afeul;
    lg_module *guest = lg_module_open("guest.lg");
    neighbour = guest ? lg_domain_new(guest, NULL) : NULL;
    neighbours = neighbour ? lg_memory_alloc_copy(neighbour, pattern, sizeof pattern) : NULL;
    NEED(neighbours);
    if (host_late)
        host_late();
    for (int i = 0; i < BLOCKS; i++)
        NEED((blocks[i] = memset(malloc(sizes[i]), 0x5a, sizes[i])));
    before = process();
    module = lg_module_open(given.file);
    if (!module)
        return printf("rejected\n%s\n", lg_last_message()), 0;
    given.options = lg_options_new();
    NEED(given.options && lg_options_name(given.options, "attacker") == LG_OK);
    NEED(lg_options_time_limit(given.options, strtoul(words[4], NULL, 0)) == LG_OK);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, words[1]) == 0) {
            scenarios[i].run();
            look_for_harm();
            fputs(ending, stdout);
            return 0;
        }
    return printf("BROKEN: there is no scenario %s\n", words[1]), 1;
}
