/* Peer: a pair of connected UNIX stream sockets, their buffers as large as the system lets them be. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include "stream.h"

static void widen(int socket)
{
    int size = 2 * (int)LARGEST_ARGUMENT; /* fewer switches; the default does where this is refused */
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) != 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static void prepare(int server_cpu)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        die("socketpair");
    widen(ends[0]);
    widen(ends[1]);
    client_in = ends[0];
    server_in = ends[1];
    if ((client_out = dup(ends[0])) < 0 || (server_out = dup(ends[1])) < 0)
        die("dup");
    start_stream(server_cpu);
}

#include "peer.h"
