/* A whole program for tests of `lockgate run`: its first argument says what to do. */
#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int copy(FILE *from, FILE *to)
{
    for (int c; (c = getc(from)) != EOF;)
        if (putc(c, to) == EOF)
            return 1;
    return fflush(to) ? 1 : 0;
}

static int file(const char *path, const char *mode, const char *text)
{
    FILE *f = fopen(path, mode);
    if (!f) {
        printf("%s: %s\n", path, strerror(errno));
        return 1;
    }
    if (text)
        fputs(text, f);
    else
        copy(f, stdout);
    return fclose(f) ? 1 : 0;
}

static volatile sig_atomic_t noted;

static void note(int signal) {
    noted += signal;
    write(1, "noted\n", 6);
}

static void end(int signal) { _exit(noted == SIGUSR1 ? 100 + signal : 1); }

static int is(const char *what, char **argv) { return !strcmp(argv[1], what); }

static void *thread(void *argument) {
    pause();
    return argument;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 9;
    if (is("name", argv))
        puts(argv[0]);
    else if (is("arguments", argv))
        for (int i = 2; i < argc; i++)
            puts(argv[i]);
    else if (is("environment", argv))
        for (char **e = environ; *e; e++)
            puts(*e);
    else if (is("status", argv))
        return atoi(argv[2]);
    else if (is("copy", argv))
        return copy(stdin, stdout);
    else if (is("complain", argv))
        fputs("complaint\n", stderr);
    else if (is("show", argv))
        return file(argv[2], "r", NULL);
    else if (is("store", argv))
        return file(argv[2], "w", argv[3]);
    else if (is("map", argv)) {
        /* Writes through a shared mapping; where that is refused, tries to get the right afterwards. */
        int fd = open(argv[2], O_RDWR);
        int rights = PROT_READ | PROT_WRITE;
        if (fd < 0) {
            fd = open(argv[2], O_RDONLY);
            rights = PROT_READ;
        }
        char *text = mmap(NULL, 4096, rights, MAP_SHARED, fd, 0);
        if (text == MAP_FAILED)
            return 1;
        if (rights == PROT_READ && mprotect(text, 4096, PROT_READ | PROT_WRITE)) {
            perror("mprotect");
            return 2;
        }
        text[0] = 'X';
        if (argc > 3) { /* The page is gone: the domain gets a fault, and so does the system call. */
            ftruncate(fd, 0);
            if (write(1, text, 1) != -1 || errno != EFAULT)
                return 3;
            return text[0];
        }
    } else if (is("fill", argv)) {
        int fd = open(argv[2], O_WRONLY | O_CREAT, 0666);
        static char block[4096];
        while (write(fd, block, sizeof block) > 0)
            ;
        perror("fill");
        return errno == EFBIG ? 0 : 1;
    } else if (is("where", argv))
        puts(getcwd(NULL, 0));
    else if (is("memory", argv))
        for (size_t total = 0;; total += 1 << 20) {
            char *block = malloc(1 << 20);
            if (!block)
                return total >= (size_t)atoi(argv[2]) << 20 ? 0 : 1;
            memset(block, 1, 1 << 20);
        }
    else if (is("unchecked", argv))
        for (;;)
            *(volatile char *)malloc(1 << 20) = 1;
    else if (is("threads", argv)) {
        pthread_t threads[2];
        return pthread_create(&threads[0], NULL, thread, NULL) + pthread_create(&threads[1], NULL, thread, NULL);
    } else if (is("mount", argv)) {
        for (int i = 0; i < 3; i++)
            if (syscall(SYS_mount, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS)
                return 1;
        syscall(SYS_landlock_restrict_self, 0, 0); /* its number lies behind the last one that exists */
        syscall(-1);
    } else if (is("null", argv))
        *(volatile int *)0 = 1;
    else if (is("divide", argv))
        return argc / (argc - 2);
    else if (is("trap", argv))
        __builtin_trap();
    else if (is("abort", argv))
        abort();
    else if (is("terminate", argv))
        raise(SIGTERM);
    else if (is("for-ever", argv))
        for (;;)
            __asm__ volatile("");
    else if (is("yes", argv))
        for (;;)
            puts("y");
    else if (is("term", argv)) {
        /* Ends as a server does: by a signal, which it waits for in a call, in a loop, or not at all. */
        if (argv[2])
            signal(SIGTERM, end), signal(SIGUSR1, note);
        printf("%d\n", (int)getpid());
        fflush(stdout);
        for (;;)
            if (argv[2] && !strcmp(argv[2], "waits"))
                pause();
    } else if (is("descriptors", argv)) {
        int count = 0;
        while (dup(1) >= 0)
            count++;
        return printf("%d\n", count), 0;
    } else if (is("connect", argv)) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        return fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0 ? errno : 0;
    } else if (is("time", argv))
        return time(NULL) > 1700000000 ? 0 : 1;
    else
        return 8;
    return 0;
}
