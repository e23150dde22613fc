/* System calls, many of each: the same file as an ordinary library and as a module. FOLDER is a directory that both may use. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int file, ends[2], sockets[2], set;
static char bytes[64];

/* 0 if all is there. */
long prepare(long unused)
{
    struct epoll_event event = { .events = EPOLLIN };
    (void)unused;
    file = open(FOLDER "/file", O_RDWR | O_CREAT, 0600);
    set = epoll_create1(0);
    if (file < 0 || set < 0 || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return -1;
    return epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) || pwrite(file, bytes, sizeof bytes, 0) != sizeof bytes;
}

#define MANY(name, once)                  \
    long name##_many(long n)              \
    {                                     \
        for (long i = 0; i < n; i++)      \
            if (!(once))                  \
                return -1;                \
        return n;                         \
    }

static struct timespec now;
static struct epoll_event event;
static int opened;

MANY(clock_gettime, clock_gettime(CLOCK_MONOTONIC, &now) == 0)
MANY(getppid, getppid() > 0)
MANY(pread, pread(file, bytes, sizeof bytes, 0) == sizeof bytes)
MANY(pwrite, pwrite(file, bytes, sizeof bytes, 0) == sizeof bytes)
MANY(pipe, write(ends[1], bytes, 1) == 1 && read(ends[0], bytes, 1) == 1)
MANY(socket, send(sockets[0], bytes, 1, 0) == 1 && recv(sockets[1], bytes, 1, 0) == 1)
MANY(poll, poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 0) == 0)
MANY(epoll_wait, epoll_wait(set, &event, 1, 0) == 0)
MANY(open_close, (opened = open(FOLDER "/file", O_RDONLY)) >= 0 && close(opened) == 0)
