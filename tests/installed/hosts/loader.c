/* A program that knows nothing of the library: the plugin in its first argument brings it. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *plugin = dlopen(argv[1], RTLD_NOW);
    int (*host_main)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "host_main") : NULL;
    return host_main ? host_main(argc - 1, argv + 1) : (puts(dlerror()), 3);
}
