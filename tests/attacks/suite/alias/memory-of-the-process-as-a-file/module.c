#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>
long attack(void)
{
    static const char *const paths[] = {"/proc/self/mem", "/proc/1/mem", "/proc/thread-self/mem", "/proc/self/maps", "/proc/self/fd/0", "/proc/self/exe",
        "/dev/mem", "/dev/kmem", "/dev/shm/x", "/sys/kernel/notes", "/proc/kcore"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int how = O_RDONLY; how <= O_RDWR; how++)
            if (open(paths[i], how | O_CREAT, 0600) >= 0)
                return i + 1;
    return 0;
}
