/* What servers ask of the system besides files and sockets: what it says is the same natively. The argument is a folder of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : (printf("line %d: not so: %s (%s)\n", __LINE__, #what, strerror(errno)), exit(1)))
#define TOLD(call) told(#call, (errno = 0, (long)(call)))

static void told(const char *call, long result) {
    printf("%s: %ld %s\n", call, result, errno ? strerror(errno) : "");
}

enum { SIZE = 200000 };
static char text[SIZE], got[SIZE];

static void transfers(void) {
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)(i * 7 + i / 251);
    int file = open("file", O_RDWR | O_CREAT, 0666), copy = open("copy", O_RDWR | O_CREAT, 0666);
    CHECK(write(file, text, SIZE) == SIZE);
    off_t at = 1000;
    TOLD(sendfile(copy, file, &at, SIZE));
    TOLD(at);
    TOLD(lseek(file, 0, SEEK_CUR));
    TOLD(pread(copy, got, SIZE, 0));
    CHECK(memcmp(got, text + 1000, SIZE - 1000) == 0);
    lseek(file, 0, SEEK_SET);
    loff_t from = 5, to = 300000;
    TOLD(copy_file_range(file, &from, copy, &to, SIZE, 0));
    TOLD(copy_file_range(file, NULL, copy, NULL, 10, 0));
    TOLD(copy_file_range(file, &from, file, &from, 10, 0));
    TOLD(copy_file_range(file, NULL, copy, NULL, 10, 1));
    TOLD(copy_file_range(99, NULL, copy, NULL, 10, 0));
    int ends[2], others[2], pair[2];
    CHECK(pipe(ends) == 0 && pipe(others) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    from = 100;
    TOLD(splice(file, &from, ends[1], NULL, 5000, 0));
    TOLD(from);
    TOLD(tee(ends[0], others[1], 3000, 0));
    TOLD(splice(ends[0], NULL, pair[0], NULL, 5000, SPLICE_F_MORE));
    TOLD(read(pair[1], got, SIZE));
    CHECK(memcmp(got, text + 100, 5000) == 0);
    TOLD(splice(others[0], NULL, copy, NULL, 5000, 0));
    TOLD(splice(others[0], NULL, copy, NULL, 5000, SPLICE_F_NONBLOCK));
    TOLD(splice(file, NULL, copy, NULL, 10, 0));
    TOLD(splice(ends[0], &from, copy, NULL, 10, 0));
    TOLD(splice(ends[0], NULL, copy, NULL, 0, 0));
    TOLD(tee(file, others[1], 1, 0));
    TOLD(sendfile(pair[0], file, NULL, 20000));
    TOLD(recv(pair[1], got, 20000, MSG_WAITALL));
    TOLD(sendfile(pair[0], ends[0], NULL, 1));
    TOLD(sendfile(ends[0], file, NULL, 1));
    CHECK(close(pair[1]) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    TOLD(sendfile(pair[0], file, NULL, 1));
    TOLD(read(file, got, (size_t)-8));
    TOLD(write(file, got, (size_t)-8));
    TOLD(read(ends[0], got, (size_t)-8));
    TOLD(lseek(ends[0], 0, SEEK_SET));
}

static void memory(void) {
    int file = memfd_create("name", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    TOLD(ftruncate(file, 8192));
    char *one = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *two = mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0);
    CHECK(one != MAP_FAILED && two != MAP_FAILED && one != two);
    strcpy(one + 5000, "seen twice");
    printf("%s\n", two + 5000);
    TOLD(pread(file, got, 10, 5000));
    TOLD(lseek(file, 0, SEEK_END));
    TOLD(write(file, "more", 4));
    TOLD(fcntl(file, F_SETFL, O_APPEND));
    TOLD(pwrite(file, "end", 3, 0));
    struct stat about;
    CHECK(fstat(file, &about) == 0);
    TOLD(about.st_size);
    TOLD(fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
    TOLD(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE));
    TOLD(fcntl(file, F_GET_SEALS));
    TOLD(ftruncate(file, 1));
    TOLD(write(file, "x", 1));
    TOLD(memfd_create("name", 0x8000));
    TOLD(munmap(one, 8192));
}

static void signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int file = signalfd(-1, &set, SFD_NONBLOCK), epoll = epoll_create1(0);
    struct signalfd_siginfo info[3];
    struct epoll_event event = {EPOLLIN | EPOLLOUT, {.u64 = 9}};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) == 0);
    TOLD(epoll_wait(epoll, &event, 1, 0));
    TOLD(read(file, info, sizeof info));
    CHECK(kill(getpid(), SIGUSR1) == 0 && sigqueue(getpid(), SIGTERM, (union sigval){.sival_int = 7}) == 0);
    TOLD(epoll_wait(epoll, &event, 1, 0));
    TOLD(event.events);
    TOLD(read(file, info, 100));
    TOLD(read(file, info, sizeof info));
    printf("%d %d %d\n", info[0].ssi_signo, info[0].ssi_code, info[0].ssi_pid == (uint32_t)getpid());
    printf("%d %d %d\n", info[1].ssi_signo, info[1].ssi_code, info[1].ssi_int);
    TOLD(read(file, info, sizeof info));
    TOLD(write(file, info, sizeof info));
    TOLD(signalfd(0x7777, &set, 0));
    TOLD(signalfd(epoll, &set, 0));
    sigdelset(&set, SIGUSR1);
    CHECK(signalfd(file, &set, 0) == file && kill(getpid(), SIGUSR1) == 0);
    TOLD(epoll_wait(epoll, &event, 1, 0));
    fcntl(file, F_SETFL, 0);
    pthread_t self = pthread_self();
    CHECK(pthread_kill(self, SIGTERM) == 0);
    TOLD(read(file, info, sizeof info));
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
}

static void show(int file) {
    _Alignas(struct inotify_event) char events[4096];
    ssize_t length = read(file, events, sizeof events);
    if (length < 0)
        printf("no event: %s\n", strerror(errno));
    for (ssize_t at = 0; at < length;) {
        struct inotify_event *event = (struct inotify_event *)(events + at);
        printf("event %d %x %s %s\n", event->wd, event->mask, event->cookie ? "with another" : "", event->len ? event->name : "");
        at += (ssize_t)(sizeof *event + event->len);
    }
}

static void notifications(void) {
    int file = inotify_init1(IN_NONBLOCK);
    CHECK(mkdir("watched", 0777) == 0);
    TOLD(inotify_add_watch(file, "watched", IN_CREATE | IN_MOVE | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF));
    TOLD(inotify_add_watch(file, "file", IN_MODIFY));
    show(file);
    int new = open("watched/new", O_WRONLY | O_CREAT, 0666);
    CHECK(new >= 0 && write(new, "x", 1) == 1 && close(new) == 0);
    CHECK(rename("watched/new", "watched/other") == 0 && truncate("file", 10) == 0);
    show(file);
    CHECK(unlink("watched/other") == 0);
    show(file);
    CHECK(rmdir("watched") == 0);
    show(file);
    TOLD(read(file, got, 4));
    TOLD(inotify_rm_watch(file, 2));
    show(file);
    TOLD(inotify_rm_watch(file, 2));
    TOLD(inotify_add_watch(file, "none", IN_CREATE));
    TOLD(inotify_add_watch(file, "none", 0));
    TOLD(inotify_add_watch(0, "file", IN_CREATE));
}

static void *reads(void *unused) {
    (void)unused;
    int file = open("fifo", O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, got, 100);
    CHECK(length >= 0);
    printf("from a FIFO: %.*s, then %zd\n", (int)length, got, read(file, got, 100));
    close(file);
    return NULL;
}

static void names(void) {
    TOLD(symlink("file", "link"));
    TOLD(symlink("file", "link"));
    TOLD(symlink("", "other"));
    TOLD(readlink("link", got, 100));
    TOLD(access("link", R_OK));
    TOLD(mkfifo("fifo", 0600));
    TOLD(mkfifo("fifo", 0600));
    TOLD(open("fifo", O_WRONLY | O_NONBLOCK));
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, reads, NULL) == 0);
    int file = open("fifo", O_WRONLY);
    CHECK(file >= 0 && write(file, "hello", 5) == 5 && close(file) == 0 && pthread_join(reader, NULL) == 0);
    TOLD(mknod("plain", 0600, 0));
    TOLD(mknod("plain", 0600, 0));
    TOLD(mknod("wrong", 0170600, 0));
    TOLD(chown("file", -1, -1));
    TOLD(chown("file", getuid(), getgid()));
    TOLD(lchown("link", -1, -1));
    TOLD(chown("none", -1, -1));
    TOLD(fchown(99, -1, -1));
    struct addrinfo *found, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    TOLD(getaddrinfo("localhost", "80", &hints, &found));
    /* (musl asks the kernel with a UDP socket.) */
    hints.ai_flags = AI_ADDRCONFIG;
    TOLD(getaddrinfo("localhost", "80", &hints, &found));
    TOLD(getaddrinfo("127.0.0.1", "80", &hints, &found));
}

static void limits(void) {
    struct rlimit limit = {60, 64}, now;
    TOLD(setrlimit(RLIMIT_NOFILE, &limit));
    CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0);
    printf("%d %d\n", (int)now.rlim_cur, (int)now.rlim_max);
    int first = dup(0), last = first;
    for (int next; (next = dup(0)) >= 0;)
        last = next;
    printf("%d\n", last);
    TOLD(fcntl(0, F_DUPFD, 60));
    TOLD(dup2(0, 60));
    close(last);
    limit.rlim_cur = 65;
    TOLD(setrlimit(RLIMIT_NOFILE, &limit));
    cpu_set_t set;
    CPU_ZERO(&set);
    TOLD(sched_setaffinity(0, sizeof set, &set));
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && chdir(argv[1]) == 0);
    transfers();
    memory();
    signals();
    notifications();
    names();
    limits();
    for (const char *const *name = (const char *const[]){"file", "copy", "link", "fifo", "plain", NULL}; *name; name++)
        CHECK(unlink(*name) == 0);
    return 0;
}
