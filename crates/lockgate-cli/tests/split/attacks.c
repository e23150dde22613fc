/* A domain that attacks the program that it belongs to. Each line of output is an attack, what the call returned, and what kind of failure
 * the program was told (lockgate_stubs.h). */
#include <lockgate/annotations.h>
#include <lockgate_stubs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    int number;
};
struct thing;

/* The program's. */
static long secret = 0x5ec2e7;
static int reached;

LG_ENTRY void hear(const char *text LG_STRING);
LG_ENTRY void look(const struct item *items LG_IN LG_SIZE(count), int count);
LG_ENTRY void fetch(char *into LG_OUT LG_SIZE(size), int size);
const struct lg_stub_error *lg_evil_error(void);

LG_DOMAIN("evil", time=1000, restart) LG_ENTRY const char *text(int how, uint64_t of_host) LG_STRING;
LG_DOMAIN("evil") LG_ENTRY int fill(char *to LG_OUT LG_SIZE(size) LG_WRITTEN(lg_result), int size) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY struct thing *open_thing(int how, uint64_t of_host);
LG_DOMAIN("evil") LG_ENTRY int use_thing(struct thing *thing) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY long peek(uint64_t address) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY int poke(uint64_t address) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY int jump(uint64_t address) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY int shout(int how, uint64_t of_host) LG_ERROR(-9);
LG_DOMAIN("evil") LG_ENTRY int spin(void) LG_ERROR(-9);

void hear(const char *text)
{
    reached += text != 0;
}

void look(const struct item *items, int count)
{
    for (int i = 0; i < count; i++)
        reached += items[i].number | 1;
}

void fetch(char *into, int size)
{
    memset(into, 'x', (size_t)size);
    reached++;
}

/* Not annotated: no domain may call it. */
static int forbidden(void)
{
    reached++;
    return 0;
}

const char *text(int how, uint64_t of_host)
{
    static char endless[64];
    memset(endless, 'x', sizeof endless);
    if (how == 0)
        return (const char *)(uintptr_t)of_host;
    /* To the end of what the domain has: no zero in it. */
    size_t size = 1 << 20;
    char *much = malloc(size);
    memset(much, 'x', size);
    return how == 1 ? (const char *)(uintptr_t)0xfffffff0 : much + size;
}

int fill(char *to, int size)
{
    memset(to, 'y', (size_t)size);
    return size + 1000;
}

struct thing *open_thing(int how, uint64_t of_host)
{
    static long thing;
    if (how == 2)
        return (struct thing *)&thing;
    return how ? (struct thing *)(uintptr_t)of_host : (struct thing *)(uintptr_t)3;
}

int use_thing(struct thing *thing)
{
    return thing != NULL;
}

long peek(uint64_t address)
{
    return *(volatile long *)(uintptr_t)address;
}

int poke(uint64_t address)
{
    *(volatile long *)(uintptr_t)address = 0;
    return 0;
}

int jump(uint64_t address)
{
    return ((int (*)(void))(uintptr_t)address)();
}

int shout(int how, uint64_t of_host)
{
    static const struct item one = {1};
    switch (how) {
    case 0: hear((const char *)(uintptr_t)of_host); break;
    case 1: hear(NULL); break;
    case 2: look(&one, 1 << 30); break;
    case 3: look(&one, -1); break;
    case 4: fetch((char *)(uintptr_t)of_host, sizeof(long)); break;
    }
    return 0;
}

int spin(void)
{
    for (volatile int on = 1; on;)
        ;
    return 0;
}

static void report(const char *attack, long returned)
{
    printf("%s: %ld, kind %d, reached %d, secret %s\n", attack, returned, lg_evil_error()->kind, reached,
           secret == 0x5ec2e7 && returned != secret ? "kept" : "LOST");
    reached = 0;
    secret = 0x5ec2e7;
}

int main(void)
{
    char small[16] = "";
    uint64_t at = (uint64_t)(uintptr_t)&secret;
    report("a pointer to the host as text", text(0, at) != NULL);
    report("a pointer past the domain as text", text(1, at) != NULL);
    report("a result beyond the buffer", fill(small, sizeof small));
    printf("  the buffer holds \"%s\"\n", small);
    report("a handle that is no object", open_thing(0, 0) != NULL);
    report("a handle that is the host's", open_thing(1, at) != NULL);
    struct thing *thing = open_thing(2, 0);
    printf("a handle as it should be: %d\n", use_thing(thing));
    report("the host's memory read", peek(at));
    report("a handle of the domain that is no more", use_thing(thing));
    report("the host's memory written", poke(at));
    report("the host's code called", jump((uint64_t)(uintptr_t)&forbidden));
    report("the host's memory shown to the host", shout(0, at));
    report("nothing where there must be text", shout(1, at));
    report("more items than there is memory", shout(2, at));
    report("a negative number of items", shout(3, at));
    report("the host's memory given to be written", shout(4, at));
    report("an endless loop", spin());
    return 0;
}
