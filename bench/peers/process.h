/* What peers need of the system: errors, the server's process, shared memory, whole writes. */
#ifndef PROCESS_H
#define PROCESS_H

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "work.h"

static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Forks the server: runs `serve` in a process on `cpu` that ends with its client. */
static inline void start_server(int cpu, void (*serve)(void))
{
    pid_t client = getpid();
    switch (fork()) {
    case -1:
        die("fork");
    case 0:
        break;
    default:
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("sched_setaffinity");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        die("prctl");
    if (getppid() != client)
        _exit(0); /* it ended before the signal was asked for */
    serve();
    _exit(0);
}

/* Memory that client and server share, zeroed. */
static inline void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        die("mmap");
    return memory;
}

static inline void write_all(int fd, const void *from, size_t size)
{
    for (const char *at = from; size > 0;) {
        ssize_t written = write(fd, at, size);
        if (written <= 0)
            die("write");
        at += written;
        size -= (size_t)written;
    }
}

#endif
