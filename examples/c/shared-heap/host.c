/* A program that opens two plugins and runs scripts, each line of its input one. With -DPLAIN it does so with dlopen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PLAIN
#include <dlfcn.h>
#define function(handle, name, prototype) dlsym(handle, name)
#define lg_dlclose dlclose
#define lg_dlerror dlerror
#define lg_malloc(handle, size) malloc(size)
#define lg_free(handle, at) free(at)
#define lg_poke(handle, to, from, size) (memcpy(to, from, size), 0)
#define lg_peek(handle, to, from, size) (memcpy(to, from, size), 0)
#define lg_last_message() ""
#else
#include <dlfcn.h>
#include <lockgate.h>
/* By its prototype: what a plugin says of its functions decides nothing about the program's memory. */
#define function(handle, name, prototype) lg_dlsym_typed(handle, prototype)
#endif

static void *opened[3];

/* Opens a file; into the domain of `base`, if there is one. */
static void *open_library(const char *file, void *base) {
#ifdef PLAIN
    (void)base;
    return dlopen(file, RTLD_NOW | RTLD_GLOBAL);
#else
    lg_dl_options options = {.policy = LG_DEFAULT, .into = base};
    return lg_dlopen_with(file, RTLD_NOW, &options, sizeof options);
#endif
}

static int open_all(void) {
    static const char *const files[3] = {"./interpreter.so", "./text.so", "./shout.so"};
    for (int i = 0; i < 3; i++)
        if (!(opened[i] = open_library(files[i], i ? opened[0] : NULL)))
            return fprintf(stderr, "%s\n", lg_dlerror()), -1;
    return 0;
}

static void close_all(void) {
    void (*stop)(void) = (void (*)(void))function(opened[0], "stop", "void stop(void)");
    if (stop)
        stop();
    for (int i = 3; i--;) lg_dlclose(opened[i]);
}

/* A byte at a time, because the answer may end anywhere, and may be nobody's memory. */
static void print(const char *from) {
    char letter;
    while (lg_peek(opened[0], &letter, from++, 1) == 0 && letter) putchar(letter);
    putchar('\n');
}

int main(void) {
    char script[1000];
    if (open_all() != 0)
        return 1;
    while (fgets(script, sizeof script, stdin)) {
        char *(*run)(const char *) = (char *(*)(const char *))function(opened[0], "run", "char *run(const char *)");
        size_t size = strlen(script) + 1;
        char *copy = lg_malloc(opened[0], size);
        if (!run || !copy || lg_poke(opened[0], copy, script, size) != 0)
            return fprintf(stderr, "%s\n", lg_dlerror()), 1;
        char *answer = run(copy);
        if (answer) {
            print(answer);
            lg_free(opened[0], answer);
            lg_free(opened[0], copy);
            continue;
        }
        printf("crash: %s\n", lg_last_message());
        close_all(); /* what the interpreter was doing, nobody knows: a new one */
        if (open_all() != 0)
            return 1;
    }
    close_all();
    return 0;
}
