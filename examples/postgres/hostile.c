/* A module that means harm. In language C each of these ends the server, or worse. */
#include <lockgate_pg.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int32_t wild_write(int64_t address) {
    *(volatile int *)address = 0x41414141;
    return 0;
}

int32_t no_end(int32_t x) {
    for (;;)
        x++;
    return x;
}

static int deeper(int n) {
    volatile char frame[1024];
    frame[n % 1024] = (char)n;
    return deeper(n + 1) + frame[0];
}

int32_t recursion(int32_t x) { return deeper(x); }

int32_t quit(int32_t status) { exit(status); }

int32_t all_memory(int32_t x) {
    char *page;
    while ((page = malloc(1 << 20)))
        for (int i = 0; i < 1 << 20; i += 4096)
            page[i] = (char)x;
    return *(volatile char *)page;
}

int32_t steal(int32_t x) { return open("postgresql.conf", O_RDONLY) + open("/etc/passwd", O_RDONLY) + x; }

int32_t stop_server(int32_t x) { return kill(getppid(), SIGKILL) + x; }

lg_pg_text forged_text(int32_t x) { return (lg_pg_text){"\xff\xfe\xfd", 3 + x}; }
