#include "granted.h"

long attack(void)
{
    static const char *const paths[] = {"/data/../outside/secret.txt", "/data/./.././outside/secret.txt", "../outside/secret.txt", "//data//..//..//outside/secret.txt",
        "/data/none/../../outside/secret.txt", "/../../../../etc/passwd", "/data/secret.txt/../../outside/secret.txt", "/etc/passwd", "", "/", "....//etc/passwd"};
    chdir("/data");
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (leaks(paths[i]))
            return i + 1;
    int folder = open("/data", O_RDONLY | O_DIRECTORY);
    return leaks_at(folder, "../outside/secret.txt", O_RDONLY) || leaks_at(folder, "..", O_RDONLY) || (!chdir("..") && leaks("outside/secret.txt"));
}
