/* Calls over a pair of descriptors: the argument's bytes there, the 8-byte result back, nothing else. The server learns the
 * size from memory that both share, set before the batch's first byte is written. With -DSPINS both sides look for bytes all the time, and sleep
 * never. */
#include <errno.h>
#include "process.h"

static int client_in, client_out, server_in, server_out;
static unsigned char argument[LARGEST_ARGUMENT];
static volatile size_t *agreed_size;

/* What has come, at least a byte; 0 at the end. */
static ssize_t read_some(int fd, void *into, size_t size)
{
    ssize_t got;
#ifdef SPINS
    while ((got = read(fd, into, size)) < 0 && errno == EAGAIN)
        __builtin_ia32_pause();
#else
    got = read(fd, into, size);
#endif
    return got;
}

static void serve(void)
{
    close(client_in);
    close(client_out);
    for (;;) {
        size_t got = 0;
        do {
            ssize_t more = read_some(server_in, argument + got, sizeof argument - got);
            if (more < 0)
                die("read");
            if (more == 0)
                return;
            got += (size_t)more;
        } while (got < *agreed_size);
        uint64_t result = total(argument, got);
        write_all(server_out, &result, sizeof result);
    }
}

/* Starts the server; the peer has made the descriptors. */
static void start_stream(int server_cpu)
{
    agreed_size = shared(sizeof *agreed_size);
#ifdef SPINS
    fcntl(client_in, F_SETFL, O_NONBLOCK);
    fcntl(server_in, F_SETFL, O_NONBLOCK);
#endif
    start_server(server_cpu, serve);
    close(server_in);
    close(server_out);
}

static void batch(size_t size)
{
    *agreed_size = size;
}

static uint64_t call(size_t size, unsigned char value)
{
    uint64_t result;
    fill(argument, size, value);
    write_all(client_out, argument, size);
    if (read_some(client_in, &result, sizeof result) != sizeof result)
        die("read of the result");
    return result;
}
