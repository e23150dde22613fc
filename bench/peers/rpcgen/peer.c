/* Peer: local RPC over a UNIX socket, stubs by rpcgen, transport by libtirpc with buffers that hold the largest argument. */
#define _GNU_SOURCE
#include <rpc/rpc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "../process.h"
#include "total.h"

#define BUFFER (2 * (u_int)LARGEST_ARGUMENT)

/* rpcgen's server stub (total_svc.c). */
extern void lockgate_peer_1(struct svc_req *request, SVCXPRT *transport);

static unsigned char bytes[LARGEST_ARGUMENT];
static CLIENT *client;

u_quad_t *total_1_svc(argument *from, struct svc_req *request)
{
    static u_quad_t result;
    (void)request;
    result = total((const unsigned char *)from->argument_val, from->argument_len);
    return &result;
}

static void prepare(int server_cpu)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/lockgate-peer-%d", getpid());
    /* Listening before the fork, so that the client need not wait for the server. */
    SVCXPRT *transport = svcunix_create(RPC_ANYSOCK, BUFFER, BUFFER, address.sun_path);
    if (transport == NULL || !svc_register(transport, LOCKGATE_PEER, ONE, lockgate_peer_1, 0))
        die("svcunix_create");
    start_server(server_cpu, svc_run);
    int socket = RPC_ANYSOCK;
    client = clntunix_create(&address, LOCKGATE_PEER, ONE, &socket, BUFFER, BUFFER);
    unlink(address.sun_path);
    if (client == NULL)
        die("clntunix_create");
    svc_destroy(transport);
}

static void batch(size_t size)
{
    (void)size;
}

static uint64_t call(size_t size, unsigned char value)
{
    fill(bytes, size, value);
    argument from = {.argument_len = (u_int)size, .argument_val = (char *)bytes};
    u_quad_t *result = total_1(&from, client);
    if (result == NULL)
        die(clnt_sperror(client, "total_1"));
    return *result;
}

#include "../peer.h"
