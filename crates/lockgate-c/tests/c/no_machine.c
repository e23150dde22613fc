/* A machine that cannot run domains, such as the one that valgrind makes: an error, and nothing leaks. */
#include "check.h"

int main(void) {
    for (int i = 0; i < 3; i++) {
        NOTHING(LG_E_HOST, lg_module_open("guest.lg"));
        SAYS("fsgsbase");
        NOTHING(LG_E_READ, lg_module_open("no such file"));
        lg_options *options = lg_options_new();
        STATUS(LG_OK, lg_options_name(options, "name"));
        STATUS(LG_E_DIRECTORY, lg_options_directory(options, "/data", ".", 0)); /* nor openat2 */
        STATUS(LG_OK, lg_options_free(options));
        STATUS(LG_E_HANDLE, lg_options_free(options));
        lg_registry *registry = lg_registry_new();
        STATUS(LG_OK, lg_registry_free(registry));
        NOTHING(LG_E_HOST, lg_region_new(4096));
    }
    return 0;
}
