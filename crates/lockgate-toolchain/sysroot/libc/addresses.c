/* getaddrinfo. For AI_ADDRCONFIG musl's asks the kernel whether the machine has addresses of a family, by a UDP connection on which nothing is sent, and
   fails if the answer is another one than that there are none. A domain is mostly not granted that connection; whether it may use an
   address it learns when it does. */
#include <netdb.h>

#include "musl.h"

hidden int __lg_addresses(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);

int getaddrinfo(const char *restrict host, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
    if (!hints) return __lg_addresses(host, service, hints, found);
    struct addrinfo own = *hints;
    own.ai_flags &= ~AI_ADDRCONFIG;
    return __lg_addresses(host, service, &own, found);
}
