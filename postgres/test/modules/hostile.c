/* Functions that do what they should not: each must end its own statement, and nothing else. */
#include <lockgate_pg.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int32_t fine(int32_t x) { return x + 1; }

/* ---- Faults ---- */

static volatile int zero;
static int *volatile null;

static int32_t deeper(int32_t n) {
    volatile char frame[4096];
    memset((void *)frame, n, sizeof frame);
    return deeper(n + 1) + frame[n & 7];
}

int32_t fault(int32_t which) {
    switch (which) {
    case 0: return *null;
    case 1: *null = 1; return 0;
    case 2: return 7 / zero;
    case 3: __builtin_trap();
    case 4: abort();
    case 5: exit(3);
    case 6: _exit(0);
    case 7: return deeper(0);
    case 8: raise(SIGKILL); return -1;
    case 9: kill(getppid(), SIGKILL); kill(1, SIGKILL); kill(-1, SIGTERM); return 9;
    case 10: ((void (*)(void))0x1234)(); return 0;
    case 11: { void (*volatile text)(void) = (void (*)(void))"\xf3\x0f\x1e\xfa\x0f\x05"; text(); return 0; }
    case 12: { char small[8]; memset(small, 0x41, 4096); return small[zero]; }
    case 13: { jmp_buf nowhere; memset(nowhere, 0x55, sizeof nowhere); longjmp(nowhere, 1); }
    case 14: { void *p; while ((p = malloc(1 << 20))) memset(p, 1, 1 << 20); return *(volatile char *)p; }
    case 15: __asm__ volatile("int3"); return 0;
    }
    return which;
}

/* Writes into the server's memory: what it does is to write into the module's own. */
int64_t poke(int64_t address) {
    *(volatile int64_t *)address = 0x4141414141414141;
    return 0;
}

int64_t peek(int64_t address) { return *(volatile int64_t *)address; }

/* Every byte of the window that it can write. */
int32_t scribble(int32_t seed) {
    for (uint64_t page = 0x10000; page < 0x100000000; page += 4096)
        *(volatile char *)page = (char)seed;
    return seed;
}

int32_t forever(int32_t which) {
    struct timespec { long seconds, nanoseconds; } day = {86400, 0};
    char byte;
    int ends[2];
    switch (which) {
    case 0: for (;;) ;
    case 1: for (;;) free(malloc(64));
    case 2: for (;;) lg_pg_is_null(0);
    case 3: syscall(SYS_nanosleep, &day, 0); return 0;
    case 4: if (pipe(ends) == 0) return read(ends[0], &byte, 1);
    case 5: for (;;) lg_pg_alloc(0);
    }
    return which;
}

/* ---- What the server offers, misused ---- */

int32_t misuse(int32_t which) {
    switch (which) {
    case 0: return lg_pg_is_null(1);
    case 1: return lg_pg_is_null(-1);
    case 2: lg_pg_raise("22023", (const char *)8);
    case 3: lg_pg_raise((const char *)8, "sqlstate nowhere");
    case 4: lg_pg_raise("00000", "success is no error");
    case 5: lg_pg_raise("no sqlstate", "a string too long");
    case 6: lg_pg_raise("22023", "\xff\xfe is no text");
    case 7: {
        char *endless = malloc(100000);
        memset(endless, 'x', 100000);
        lg_pg_raise("22023", endless);
    }
    case 8: return lg_pg_alloc(0x7fffffffffffffff) == 0;
    case 9: return lg_pg_alloc(-1) == 0;
    case 10: for (int i = 0; i < 100; i++) memset(lg_pg_alloc(64 << 20), 1, 64 << 20); return 0;
    case 11: lg_pg_report(77, "a level that there is not"); lg_pg_log(LG_PG_NOTICE, "%s", "%n%s%d"); return 0;
    case 12: lg_pg_report(21, "an error by another name"); return 12;
    case 13: lg_pg_error("P0001", "%s: %d", "raised", 13);
    }
    return which;
}

/* The exchange cannot be taken away from under the server. */
int32_t unmap(lg_pg_text text) {
    uintptr_t page = (uintptr_t)text.at & ~4095ul;
    int32_t done = 0;
    done += munmap((void *)page, 4096) == 0;
    done += mprotect((void *)page, 4096, PROT_NONE) == 0;
    done += mmap((void *)page, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == (void *)page;
    done += madvise((void *)page, 4096, MADV_DONTNEED) == 0;
    memset((void *)text.at, '!', text.size);
    return done;
}

/* A result that runs out of the memory that there is. */
lg_pg_text gone(int32_t size) {
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 'x', 8192);
    mprotect(page + 4096, 4096, PROT_NONE);
    return (lg_pg_text){page, size};
}


/* ---- The machine ---- */

int32_t reach(int32_t which) {
    char buffer[64];
    switch (which) {
    case 0: return open("/etc/passwd", O_RDONLY);
    case 1: return open("postgresql.conf", O_RDWR);
    case 2: return open("/proc/self/mem", O_RDWR);
    case 3: return socket(AF_UNIX, SOCK_STREAM, 0);
    case 4: return fork();
    case 5: return execl("/bin/sh", "sh", "-c", "touch /tmp/owned", (char *)0);
    case 6: { int n = 0; for (int fd = 0; fd < 1024; fd++) n += (fd != 2 && write(fd, "owned", 5) > 0) || read(fd, buffer, 1) > 0; return n; }
    case 7: { pthread_t t; return pthread_create(&t, 0, (void *(*)(void *))abort, 0) == 0; }
    case 8: return syscall(SYS_ptrace, 16, getppid(), 0, 0);
    case 9: return syscall(SYS_arch_prctl, 0x1002, 0);
    case 10: return syscall(SYS_rt_sigaction, SIGTERM, 0, 0, 8);
    case 11: { char *environment = getenv("PATH"); return environment ? 1 : -1; }
    case 12: return mmap((void *)0x400000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 1;
    }
    return which;
}

/* ---- Secrets between roles ---- */

static char secret[64];

void remember(lg_pg_text text) {
    size_t size = text.size < sizeof secret ? text.size : sizeof secret;
    memset(secret, 0, sizeof secret);
    memcpy(secret, text.at, size);
}

lg_pg_text recall(void) { return (lg_pg_text){secret, strnlen(secret, sizeof secret)}; }

/* Uses CPU time, then crashes. */
int32_t burn(int32_t millions) {
    for (volatile int64_t i = 0; i < (int64_t)millions * 1000000; i++)
        ;
    __builtin_trap();
}
