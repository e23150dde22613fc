#include "granted.h"

long attack(long window)
{
    static char name[70000];
    memset(name, 'a', sizeof name - 1);
    memcpy(name, "/data/", 6);
    char *end = (char *)window + 0xfffff000L;
    return open(name, O_CREAT | O_RDWR, 0600) >= 0 || open(end, O_RDONLY) >= 0 || !chdir(name) || open("/data/../outside/secret.txt\0/data", O_RDONLY) >= 0
        || !rename("/data/secret.txt", name) || open((char *)-1L, O_RDONLY) >= 0 || open((char *)(window - 4), O_RDONLY) >= 0;
}
