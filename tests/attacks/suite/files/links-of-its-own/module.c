#include "granted.h"

long attack(void)
{
    int file = open("/data/secret.txt", O_RDONLY);
    char by_number[32];
    sprintf(by_number, "/proc/self/fd/%d", file);
    return !symlink("../outside/secret.txt", "/data/mine") || !symlinkat("/", AT_FDCWD, "/data/mine") || !link("/data/../outside/secret.txt", "/data/mine")
        || !linkat(file, "", AT_FDCWD, "/data/mine", AT_EMPTY_PATH) || !linkat(AT_FDCWD, by_number, AT_FDCWD, "/data/mine", AT_SYMLINK_FOLLOW)
        || !linkat(AT_FDCWD, "/data/out", AT_FDCWD, "/data/mine", AT_SYMLINK_FOLLOW) || leaks("/data/mine");
}
