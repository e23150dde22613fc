/* Clients and servers in one program, over all that a domain may be granted: what they say is the same natively. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : (printf("line %d: not so: %s (%s)\n", __LINE__, #what, strerror(errno)), exit(1)))
#define TOLD(call) told(#call, (errno = 0, (int)(call)))

static void told(const char *call, int result) {
    printf("%s: %d %s\n", call, result, errno ? strerror(errno) : "");
}

/* All of a longer stream, whatever its pieces. */
static void *echo(void *argument) {
    int fd = (int)(intptr_t)argument;
    static __thread char buffer[70000];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t sent = 0; sent < got;) {
            ssize_t now = send(fd, buffer + sent, (size_t)(got - sent), MSG_NOSIGNAL);
            CHECK(now > 0);
            sent += now;
        }
    close(fd);
    return NULL;
}

static void round_trips(int fd) {
    enum { MUCH = 3000000 };
    char *sent = malloc(MUCH), *got = malloc(MUCH);
    for (int i = 0; i < MUCH; i++)
        sent[i] = (char)(i * 7 + i / 251);
    size_t out = 0, in = 0;
    while (in < MUCH) {
        struct pollfd both = {fd, POLLIN | (out < MUCH ? POLLOUT : 0), 0};
        CHECK(poll(&both, 1, -1) == 1);
        if (both.revents & POLLOUT) {
            ssize_t now = send(fd, sent + out, MUCH - out, MSG_DONTWAIT);
            CHECK(now > 0 || errno == EAGAIN);
            out += now > 0 ? (size_t)now : 0;
        }
        if (both.revents & POLLIN) {
            struct iovec parts[2] = {{got + in, 1}, {got + in + 1, MUCH - in - 1}};
            struct msghdr message = {.msg_iov = parts, .msg_iovlen = MUCH - in > 1 ? 2 : 1};
            ssize_t now = recvmsg(fd, &message, 0);
            CHECK(now > 0);
            in += (size_t)now;
        }
    }
    CHECK(memcmp(sent, got, MUCH) == 0);
    CHECK(shutdown(fd, SHUT_WR) == 0 && fcntl(fd, F_SETFL, 0) == 0 && recv(fd, got, 1, 0) == 0);
    printf("all of it came back\n");
    free(sent);
    free(got);
}

static socklen_t address_of(int fd, struct sockaddr_storage *address) {
    socklen_t length = sizeof *address;
    CHECK(getsockname(fd, (struct sockaddr *)address, &length) == 0);
    return length;
}

static int connected(const struct sockaddr_storage *address, socklen_t length, int flags) {
    int fd = socket(address->ss_family, SOCK_STREAM | flags, 0);
    CHECK(fd >= 0);
    int done = connect(fd, (const struct sockaddr *)address, length);
    if (flags & SOCK_NONBLOCK && done != 0) {
        CHECK(errno == EINPROGRESS);
        struct pollfd one = {fd, POLLOUT, 0};
        CHECK(poll(&one, 1, -1) == 1);
        int error = 1;
        socklen_t size = sizeof error;
        CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 && size == sizeof error);
    } else {
        CHECK(done == 0);
    }
    return fd;
}

static void serve(int listener, int flags) {
    struct sockaddr_storage address, peer, own;
    socklen_t length = address_of(listener, &address);
    int client = connected(&address, length, flags);
    socklen_t peer_length = sizeof peer;
    int server = accept4(listener, (struct sockaddr *)&peer, &peer_length, SOCK_CLOEXEC);
    CHECK(server >= 0 && fcntl(server, F_GETFD) == FD_CLOEXEC);
    if (address.ss_family != AF_UNIX) {
        socklen_t own_length = address_of(client, &own);
        CHECK(own_length == peer_length && memcmp(&own, &peer, own_length) == 0);
    }
    socklen_t name = sizeof peer;
    CHECK(getpeername(client, (struct sockaddr *)&peer, &name) == 0);
    printf("connected: %d\n", name == length && memcmp(&peer, &address, length) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, echo, (void *)(intptr_t)server) == 0);
    round_trips(client);
    CHECK(pthread_join(thread, NULL) == 0);
    close(client);
}

static int listening(const char *host, int family) {
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST}, *found;
    CHECK(getaddrinfo(host, "0", &hints, &found) == 0);
    int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol), on = 1;
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    CHECK(bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0);
    freeaddrinfo(found);
    return fd;
}

static volatile sig_atomic_t pipes;

static void count(int signal) {
    (void)signal;
    pipes++;
}

/* One loop for listeners, connections, times and events. */
static void events(int listener) {
    int set = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(set >= 0 && counter >= 0 && timer >= 0);
    struct epoll_event event = {.events = EPOLLIN};
    int watched[] = {listener, counter, timer};
    for (int i = 0; i < 3; i++) {
        event.data.u64 = (uint64_t)i << 40;
        CHECK(epoll_ctl(set, EPOLL_CTL_ADD, watched[i], &event) == 0);
    }
    struct itimerspec soon = {.it_value = {0, 1000000}};
    CHECK(timerfd_settime(timer, 0, &soon, NULL) == 0 && eventfd_write(counter, 3) == 0);
    struct sockaddr_storage address;
    socklen_t length = address_of(listener, &address);
    int client = connected(&address, length, 0), seen = 0;
    while (seen != 7) {
        struct epoll_event some[8];
        int ready = epoll_wait(set, some, 8, -1);
        CHECK(ready > 0);
        for (int i = 0; i < ready; i++) {
            uint64_t value = 0;
            switch (some[i].data.u64 >> 40) {
            case 0: close(accept(listener, NULL, NULL)); break;
            case 1: CHECK(eventfd_read(counter, &value) == 0 && value == 3); break;
            case 2: CHECK(read(timer, &value, sizeof value) == sizeof value && value == 1); break;
            }
            seen |= 1 << (some[i].data.u64 >> 40);
        }
    }
    fd_set reading;
    FD_ZERO(&reading);
    FD_SET(client, &reading);
    struct timeval time = {5, 0};
    printf("select: %d, end: %d\n", select(client + 1, &reading, NULL, NULL, &time), (int)read(client, &address, 1));
    /* A peer that is gone: an error, and a signal for whoever wants one. */
    signal(SIGPIPE, count);
    while (send(client, "x", 1, MSG_NOSIGNAL) == 1)
        usleep(1000);
    CHECK(errno == EPIPE || errno == ECONNRESET);
    while (write(client, "x", 1) == 1 || errno == ECONNRESET)
        ;
    printf("signals: %d\n", (int)pipes);
    close(client), close(set), close(counter), close(timer);
}

static void datagrams(void) {
    int fds[2];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage names[2];
    socklen_t length = 0;
    for (int i = 0; i < 2; i++) {
        fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(fds[i] >= 0 && bind(fds[i], (struct sockaddr *)&at, sizeof at) == 0);
        length = address_of(fds[i], &names[i]);
    }
    char buffer[16] = "";
    CHECK(sendto(fds[0], "a datagram", 10, 0, (struct sockaddr *)&names[1], length) == 10);
    CHECK(sendto(fds[0], "", 0, 0, (struct sockaddr *)&names[1], length) == 0);
    struct sockaddr_storage from;
    socklen_t from_length = sizeof from;
    printf("%d ", (int)recvfrom(fds[1], buffer, 4, MSG_TRUNC, (struct sockaddr *)&from, &from_length));
    printf("%s %d\n", buffer, from_length == length && memcmp(&from, &names[0], length) == 0);
    printf("%d\n", (int)recv(fds[1], buffer, sizeof buffer, 0));
    CHECK(connect(fds[0], (struct sockaddr *)&names[1], length) == 0 && write(fds[0], "again", 5) == 5);
    struct mmsghdr messages[3] = {0};
    struct iovec part = {buffer, sizeof buffer};
    for (int i = 0; i < 3; i++)
        messages[i].msg_hdr.msg_iov = &part, messages[i].msg_hdr.msg_iovlen = 1;
    printf("%d %u %.5s\n", recvmmsg(fds[1], messages, 3, MSG_WAITFORONE, NULL), messages[0].msg_len, buffer);
    struct timeval time = {0, 10000};
    CHECK(setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    TOLD(recv(fds[1], buffer, 1, 0));
    close(fds[0]), close(fds[1]);
}

static void pairs(void) {
    int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) {
        int ends[2], type = 0;
        socklen_t size = sizeof type;
        CHECK(socketpair(AF_UNIX, types[i], 0, ends) == 0);
        CHECK(getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == types[i]);
        CHECK(writev(ends[0], (struct iovec[]){{"one", 3}, {" two", 4}}, 2) == 7);
        CHECK(write(ends[0], "three", 5) == 5);
        char buffer[32] = "";
        int first = (int)read(ends[1], buffer, 5), peeked = (int)recv(ends[1], buffer + 8, 20, MSG_PEEK);
        printf("%d %.5s %d %s\n", first, buffer, peeked, buffer + 8);
        close(ends[0]);
        TOLD(read(ends[1], buffer, sizeof buffer));
        close(ends[1]);
    }
}

static int other_end;
static struct sockaddr_storage somewhere;
static socklen_t its_length;

/* Gives the interrupted call what it waits for. */
static void gives(int signal) {
    (void)signal;
    if (its_length)
        (void)!connect(other_end, (struct sockaddr *)&somewhere, its_length);
    else
        (void)!write(other_end, "x", 1);
}

static void soon(int flags) {
    struct sigaction action = {.sa_handler = gives, .sa_flags = flags};
    struct itimerval time = {.it_value = {0, 20000}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &time, NULL) == 0);
}

/* Waits begin again behind a handler that says so, but for those that are for so long. */
static void interrupted(int listener) {
    int ends[2];
    char byte;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    other_end = ends[1];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int flags[] = {SA_RESTART, 0};
    for (int i = 0; i < 2; i++) {
        soon(flags[i]);
        TOLD(read(ends[0], &byte, 1));
        recv(ends[0], &byte, 1, MSG_DONTWAIT);
        soon(flags[i]);
        TOLD(recvmsg(ends[0], &message, 0));
        recv(ends[0], &byte, 1, MSG_DONTWAIT);
    }
    struct timeval time = {60, 0};
    CHECK(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    soon(SA_RESTART);
    TOLD(recv(ends[0], &byte, 1, 0));
    struct pollfd one = {ends[0], POLLPRI, 0};
    soon(SA_RESTART);
    TOLD(poll(&one, 1, 60000));
    close(ends[0]), close(ends[1]);
    its_length = address_of(listener, &somewhere);
    for (int i = 0; i < 2; i++) {
        other_end = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        soon(flags[i]);
        int server = accept(listener, NULL, NULL);
        printf("accepted: %d\n", server >= 0);
        if (server < 0)
            server = accept(listener, NULL, NULL);
        close(server), close(other_end);
    }
}

static void errors(int listener) {
    char byte = 0;
    struct sockaddr_storage address;
    socklen_t length = address_of(listener, &address);
    TOLD(bind(listener, (struct sockaddr *)&address, length));
    TOLD(send(listener, "x", 1, MSG_NOSIGNAL));
    TOLD(recv(listener, &byte, 1, 0));
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    TOLD(accept(fd, NULL, NULL));
    TOLD(getpeername(fd, (struct sockaddr *)&address, &length));
    TOLD(shutdown(fd, SHUT_RDWR));
    TOLD(shutdown(fd, 9));
    TOLD(recv(fd, &byte, 1, MSG_DONTWAIT));
    TOLD(send(fd, &byte, 1, MSG_NOSIGNAL));
    TOLD(setsockopt(fd, SOL_SOCKET, 9999, &on, sizeof on));
    TOLD(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, 1));
    TOLD(lseek(fd, 0, SEEK_CUR));
    TOLD(pread(fd, &byte, 1, 0));
    TOLD(accept(1, NULL, NULL));
    TOLD(accept(99, NULL, NULL));
    struct epoll_event event;
    TOLD(epoll_wait(fd, &event, 1, 0));
    TOLD(socket(AF_INET, 77, 0));
    TOLD(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
    TOLD(socket(12345, SOCK_STREAM, 0));
    TOLD(socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0, 0}));
    TOLD(connect(fd, (struct sockaddr *)&address, 3));
    close(fd);
}

int main(int count, char **arguments) {
    int tcp = listening("127.0.0.1", AF_INET);
    serve(tcp, 0);
    serve(tcp, SOCK_NONBLOCK);
    events(tcp);
    datagrams();
    pairs();
    errors(tcp);
    interrupted(tcp);
    int six = listening("::1", AF_INET6);
    serve(six, 0);
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    snprintf(path.sun_path, sizeof path.sun_path, "%s", count > 1 ? arguments[1] : "");
    unlink(path.sun_path);
    int local = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(local >= 0 && bind(local, (struct sockaddr *)&path, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path.sun_path) + 1)) == 0);
    CHECK(listen(local, 5) == 0);
    serve(local, 0);
    CHECK(unlink(path.sun_path) == 0);
    return 0;
}
