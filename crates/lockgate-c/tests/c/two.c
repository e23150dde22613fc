/* A host with the static library, and a plugin with the shared one: two copies in one process, on the same threads. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

static int (*same)(int), (*plugin_same)(int);
static void (*crash)(int *);
static lg_status (*plugin_crash)(void);

static void *alternate(void *argument) {
    for (int i = 0; i < 500; i++) {
        CHECK(same(i) == i);
        RETURNED();
        CHECK(plugin_same(i) == i);
        crash(NULL);
        FAILED(LG_E_FAULT);
        CHECK(plugin_crash() == LG_E_FAULT);
    }
    return argument;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(plugin);
    int (*start)(void);
    *(void **)&start = dlsym(plugin, "plugin_start");
    *(void **)&plugin_same = dlsym(plugin, "plugin_same");
    *(void **)&plugin_crash = dlsym(plugin, "plugin_crash");
    lg_domain *domain = new_domain(open_module("guest.lg"), NULL);
    same = POINTER(int (*)(int), bind(domain, "same"));
    crash = POINTER(void (*)(int *), bind(domain, "crash"));
    CHECK(start());
    alternate(NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, alternate, NULL) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
