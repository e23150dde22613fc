/* A program with many parts to play among others, each said by its first argument. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_signal(int number) { told = number; }

/* Says it, and waits for signals until one ends it with `status`. */
static int waits(const char *name, int status) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    /* One that comes before the wait is not to be lost. */
    sigset_t both, none;
    sigemptyset(&none);
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGHUP);
    sigprocmask(SIG_BLOCK, &both, NULL);
    printf("%s is there\n", name);
    fflush(stdout);
    for (;;) {
        while (!told)
            sigsuspend(&none);
        printf("%s: signal %d\n", name, told);
        fflush(stdout);
        if (told == SIGTERM)
            return status;
        told = 0;
    }
}

static int listens(int port) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16)) {
        fprintf(stderr, "cannot listen: %s\n", strerror(errno));
        exit(3);
    }
    return listener;
}

/* Gives back what it gets; a byte 'X' crashes it. */
static void echoes(int port) {
    int listener = listens(port);
    puts("serving");
    fflush(stdout);
    for (;;) {
        char bytes[512];
        ssize_t count;
        int stream = accept(listener, NULL, NULL);
        while ((count = read(stream, bytes, sizeof bytes)) > 0) {
            if (bytes[0] == 'X')
                *(volatile int *)8 = 1;
            write(stream, bytes, count);
        }
        close(stream);
    }
}

static void *sleeps(void *unused) {
    for (;;)
        pause();
    return unused;
}

int main(int count, char **arguments) {
    const char *part = count > 1 ? arguments[1] : "";
    int number = count > 2 ? atoi(arguments[2]) : 0;
    if (!strcmp(part, "says")) {
        for (int i = 2; i < count; i++)
            puts(arguments[i]);
        fprintf(stderr, "%s\n", "done");
        return 0;
    }
    if (!strcmp(part, "status"))
        return number;
    if (!strcmp(part, "crash")) {
        puts("about to crash");
        fflush(stdout);
        *(volatile int *)8 = 1;
    }
    if (!strcmp(part, "waits"))
        return waits(arguments[2], count > 3 ? atoi(arguments[3]) : 0);
    if (!strcmp(part, "ignores")) {
        signal(SIGTERM, SIG_IGN);
        puts("deaf");
        fflush(stdout);
        for (;;)
            pause();
    }
    if (!strcmp(part, "plain"))
        for (puts("plain"), fflush(stdout);;)
            pause();
    if (!strcmp(part, "echo"))
        echoes(number);
    if (!strcmp(part, "endless"))
        for (;;)
            write(1, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32);
    if (!strcmp(part, "lines"))
        for (int line = 0; line < number; line++)
            printf("line %d\n", line);
    if (!strcmp(part, "rude"))
        fputs("first\r\033[2K\033[31mother | hello\n\xff\n", stdout);
    if (!strcmp(part, "threads")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleeps, NULL))
            return 4;
        pipe((int[2]){0});
        *(volatile int *)8 = 1;
    }
    if (!strcmp(part, "pid"))
        printf("%d\n", (int)getpid());
    if (!strcmp(part, "variable"))
        puts(getenv(arguments[2]) ? getenv(arguments[2]) : "none");
    if (!strcmp(part, "name"))
        puts(arguments[0]);
    if (!strcmp(part, "mask"))
        printf("%03o\n", (unsigned)umask(0));
    if (!strcmp(part, "folder")) {
        char folder[4096];
        puts(getcwd(folder, sizeof folder));
    }
    return 0;
}
