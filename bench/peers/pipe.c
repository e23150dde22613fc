/* Peer: two pipes, as large as the system lets them be. */
#define _GNU_SOURCE
#include "stream.h"

static void make_pipe(int *in, int *out)
{
    int ends[2];
    if (pipe(ends) != 0)
        die("pipe");
    fcntl(ends[1], F_SETPIPE_SZ, (int)LARGEST_ARGUMENT); /* fewer switches; the default does where this is refused */
    *in = ends[0];
    *out = ends[1];
}

static void prepare(int server_cpu)
{
    make_pipe(&server_in, &client_out);
    make_pipe(&client_in, &server_out);
    start_stream(server_cpu);
}

#include "peer.h"
