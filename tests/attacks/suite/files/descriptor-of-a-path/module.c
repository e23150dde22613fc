#include "granted.h"

long attack(void)
{
    int folder = open("/data", O_PATH), file = open("/data/secret.txt", O_PATH);
    char name[32];
    for (int number = 0; number < 16; number++) {
        static const char *const forms[] = {"/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d", "/proc/1/fd/%d"};
        for (int form = 0; form < 4; form++) {
            sprintf(name, forms[form], number);
            if (open(name, O_RDWR) >= 0)
                return 1;
        }
    }
    return leaks_at(folder, "../outside/secret.txt", O_RDONLY) || leaks_at(folder, "", O_RDONLY) || syscall(SYS_openat, file, "", O_RDWR | 0x1000) >= 0
        || syscall(SYS_open_by_handle_at, folder, name, O_RDONLY) >= 0 || syscall(SYS_name_to_handle_at, folder, "", name, name, 0x1000) >= 0
        || (folder >= 0 && !fchdir(folder) && leaks("../outside/secret.txt"));
}
