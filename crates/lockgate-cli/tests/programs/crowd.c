/* One of many servers: gives each client back what it writes; a byte X crashes it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 64 };

static int listens(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    /* That of the run before. */
    unlink(path);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, MOST)) {
        fprintf(stderr, "cannot listen on %s: %s\n", path, strerror(errno));
        return -1;
    }
    return listener;
}

int main(int count, char **arguments) {
    struct pollfd waits[MOST] = {{.fd = count > 1 ? listens(arguments[1]) : -1, .events = POLLIN}};
    int used = 1;
    if (waits[0].fd < 0)
        return 3;
    while (poll(waits, used, -1) > 0) {
        for (int i = used - 1; i > 0; i--) {
            char bytes[512];
            ssize_t got = waits[i].revents ? read(waits[i].fd, bytes, sizeof bytes) : -1;
            if (!waits[i].revents)
                continue;
            if (got > 0 && bytes[0] == 'X')
                *(volatile int *)8 = 1;
            if (got <= 0 || write(waits[i].fd, bytes, got) != got) {
                close(waits[i].fd);
                waits[i] = waits[--used];
            }
        }
        if (waits[0].revents && used < MOST) {
            int stream = accept(waits[0].fd, NULL, NULL);
            if (stream >= 0)
                waits[used++] = (struct pollfd){.fd = stream, .events = POLLIN};
        }
    }
    return 4;
}
