/* ---- the domain, and what is used of lockgate.h -------------------------------------------------------------------------- */

/* Memory that the host and the domain share. */
static bool lgs_region_new(size_t size, struct lgs_stage *block)
{
    block->region = lg_region_new(size);
    block->grant = lg_grant_new(lgs.domain, block->region, LG_READ_WRITE);
    block->here = lgs_far(lg_region_address(block->region), 0);
    block->inside = (uint64_t)(uintptr_t)lg_grant_pointer(block->grant, 0);
    block->size = size;
    if (block->here && block->inside)
        return true;
    lg_grant_free(block->grant);
    lg_region_free(block->region);
    return false;
}

static void lgs_region_free(const struct lgs_stage *block)
{
    lg_grant_free(block->grant);
    lg_region_free(block->region);
}

/* Host memory without contents, which costs nothing until it is used. A page of zeros is behind it. */
static void *lgs_reserve(size_t size, int rights)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = mmap(0, size + 4096, rights, flags, -1, 0);
    return at == MAP_FAILED ? 0 : at;
}

/* Sets one option of the domain: "streams", "memory=64M", "stack=1M", "time=1000", "directory=HOST[:ro]", "restart". */
static bool lgs_option(lg_options *options, const char *option)
{
    const char *value = strchr(option, '=');
    size_t length = value ? (size_t)(value++ - option) : strlen(option);
    char *end = 0;
    uint64_t number = value ? strtoull(value, &end, 10) : 0;
    number <<= end && *end == 'K' ? 10 : end && *end == 'M' ? 20 : end && *end == 'G' ? 30 : 0;
#define LGS_IS(name) (length == sizeof name - 1 && memcmp(option, name, length) == 0)
    if (LGS_IS("restart"))
        return LGS_RESTARTS;
    if (LGS_IS("streams"))
        return lg_options_standard_streams(options) == LG_OK;
    if (LGS_IS("memory"))
        return lg_options_memory_limit(options, lgs.memory_limit = number) == LG_OK;
    if (LGS_IS("stack"))
        return lg_options_stack_size(options, number) == LG_OK;
    if (LGS_IS("time"))
        return lg_options_time_limit(options, lgs.time_limit = number) == LG_OK;
    if (LGS_IS("directory") && value) {
        /* Under its own name, so that the program's paths lead to the same files. */
        char host[4096], path[4096];
        size_t named = strlen(value);
        bool writable = !(named > 3 && strcmp(value + named - 3, ":ro") == 0);
        snprintf(host, sizeof host, "%.*s", (int)(writable ? named : named - 3), value);
        return realpath(host, path) && lg_options_directory(options, path, path, writable) == LG_OK &&
               (strcmp(host, ".") != 0 || lg_options_current_directory(options, path) == LG_OK);
    }
#undef LGS_IS
    return false;
}

static const char *lgs_start_failed;

/* (Declared for programs of GNU only, but there for all.) */
extern char *secure_getenv(const char *);

static void lgs_leave_thread(void *unused);
static void lgs_mirror_free(void);
static void lgs_asides_free(void);
static void lgs_asides_forget(void);
static void lgs_scopes_end(bool child);

/* Streams that lead nowhere: libraries take it for granted that files are not numbered 0 to 2. */
static bool lgs_no_streams(lg_options *options)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool set = nothing >= 0;
    for (int number = 0; set && number < 3; number++)
        set = lg_options_stream(options, number, nothing) == LG_OK;
    if (nothing >= 0)
        close(nothing);
    return set;
}

/* The domain, and its functions. */
static bool lgs_domain_begin(void)
{
    lgs.domain = lg_domain_new(lgs.module, lgs.options);
    lgs.window = lgs.domain ? lg_domain_base(lgs.domain) : 0;
    for (unsigned i = 0; i < LGS_FUNCTION_COUNT; i++) {
        const struct lgs_function *function = &lgs_functions[i];
        lgs.functions[i] = lgs.window ? lg_bind(lgs.domain, function->prototype, function->policy) : 0;
        lgs.targets[i] = lgs.functions[i] ? lg_function_pointer(lgs.functions[i]) : 0;
        if (!lgs.targets[i])
            return false;
    }
    if (LGS_FREES) {
        lg_function *function = lgs.functions[LGS_FUNCTION_COUNT + 1] = lg_bind(lgs.domain, "void free(void *)", LG_DEFAULT);
        lgs.free_inside = (void (*)(uint64_t))lg_function_pointer(function);
        if (!lgs.free_inside)
            return false;
    }
    if (!LGS_ERRNO)
        return true;
    lgs.functions[LGS_FUNCTION_COUNT] = lg_bind(lgs.domain, "void *__errno_location(void)", LG_DEFAULT);
    lgs.errno_location = (uint64_t (*)(void))lg_function_pointer(lgs.functions[LGS_FUNCTION_COUNT]);
    return lgs.errno_location != 0;
}

/* In a child the domain is the parent's, and so is the stage: it is one memory for both. A library that restarts begins another domain
 * at the child's first call, with nothing of what the parent's other threads may have been changing; the calls of one that does not
 * fail before anything is put anywhere. */
static void lgs_in_child(void)
{
    pthread_mutex_init(&lgs.lock, 0);
    pthread_cond_init(&lgs.left, 0);
    lgs_scopes_end(true);
    memset(lgs.callbacks, 0, sizeof lgs.callbacks);
    memset(lgs.kept, 0, sizeof lgs.kept);
    memset(lgs.objects, 0, sizeof lgs.objects);
    lgs.object_bytes = 0;
    lgs.spare = 0;
    lgs.kept_regions = 0;
    lgs.streams = 0;
    lgs.lent = 0;
    lgs_thread.lent = 0;
    lgs_thread.gave = 0;
    lgs_thread.spare = 0;
    lgs.data_count = lgs.data_free = lgs.data_used = lgs.data_bucket_count = 0;
    lgs.data_buckets = 0;
    lgs.mirrors = 0;
    lgs.pieces = 0;
    lgs.shared_count = 0;
    lgs.retired = 0;
    lgs.out = 0;
    for (unsigned i = 0; i < lgs_thread.depth; i++) {
        lgs_thread.marks[i].owned = 0;
        lgs_thread.marks[i].data = 0;
        lgs_thread.marks[i].out = lgs_thread.marks[i].inside = false;
    }
    lgs_thread.count = 0;
    lgs_thread.mirror = 0;
    lgs_asides_forget();
    lgs.generation++;
    if (LGS_RESTARTS) {
        pthread_rwlock_init(&lgs_running, 0);
        memset(lgs.functions, 0, sizeof lgs.functions);
        lgs.broken = true;
    } else if (!lgs_start_failed) {
        lgs_start_failed = "it was called before the process forked, and is not annotated with restart";
    }
}

/* The first call in a child has it noticed. */
static void lgs_notice_child(void)
{
    if (lgs_process == &lgs_unmade)
        return;
    unsigned none = 0, *state = &lgs_process->state;
    while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != LGS_NOTICED) {
        if (__atomic_compare_exchange_n(state, &none, LGS_NOTICING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            lgs_in_child();
            __atomic_store_n(state, LGS_NOTICED, __ATOMIC_RELEASE);
        } else {
            none = 0;
            sched_yield();
        }
    }
}

/* The page by which a child is noticed. */
static bool lgs_process_new(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK) != 0)
        return false;
    ((struct lgs_process *)page)->state = LGS_NOTICED;
    __atomic_store_n(&lgs_process, page, __ATOMIC_RELEASE);
    return true;
}

/* Once, at the first call: the module from the environment or where it was made, the domain. */
static void lgs_start(void)
{
#ifdef LGS_MODULE_BYTES
    const char *path = secure_getenv(LGS_MODULE_VARIABLE);
    lgs.module = path ? lg_module_open(path) : lg_module_from_bytes(LGS_MODULE_BYTES, (size_t)(LGS_MODULE_END - LGS_MODULE_BYTES));
    path = path ? path : LGS_NAME;
#else
    const char *path = secure_getenv(LGS_MODULE_VARIABLE);
    path = path ? path : LGS_MODULE;
    /* A user who starts a program with other rights than his own chooses the folder that it starts in. */
    bool chosen = *path != '/' && getauxval(AT_SECURE);
    lgs.module = chosen ? 0 : lg_module_open(path);
#endif
    lgs.options = lg_options_new();
    /* No call here goes on without its caller, whatever binds it: what it was passed is copied back, and used for the next call, when it ends. */
    bool set = lgs.module && lgs.options && lgs_no_streams(lgs.options) && lg_options_detached_limit(lgs.options, 0) == LG_OK;
    const char *failed = 0;
#ifndef LGS_MODULE_BYTES
    if (chosen)
        failed = "-m with a relative path in a set-user-ID program";
#endif
    for (const char *const *option = lgs_options; set && *option; option++) {
        set = lgs_option(lgs.options, *option);
        failed = set ? 0 : *option;
    }
    for (const struct lgs_trampoline *gate = lgs_gates; set && gate->name; gate++)
        set = lg_options_gate(lgs.options, gate->prototype, gate->code, 0) == LG_OK;
    lgs.handles = lgs_reserve(LGS_HANDLES * LGS_HANDLE, PROT_READ | PROT_WRITE);
    lgs.places = lgs_reserve(LGS_WINDOW, PROT_READ);
    lgs.scopes = lgs_reserve(LGS_HANDLES * sizeof *lgs.scopes, PROT_READ | PROT_WRITE);
    lgs.scope_at = lgs_reserve(LGS_WINDOW / LGS_STEP * sizeof *lgs.scope_at, PROT_READ | PROT_WRITE);
    set = set && lgs.handles && lgs.places && lgs.scopes && lgs.scope_at && lgs_process_new();
    if (set && pthread_key_create(&lgs_key, lgs_leave_thread) == 0 && lgs_domain_begin())
        return;
    /* The user of an unchanged program would not find out otherwise. */
    lgs_start_failed = failed ? failed : path;
    fprintf(stderr, "lockgate: %s cannot be protected: %s%s%s; set %s to the module, made with `lockgate cc --exports`\n", lgs_name,
            failed ? "option " : "", failed ? failed : lg_last_message(), failed ? " cannot be met" : "", LGS_MODULE_VARIABLE);
}
