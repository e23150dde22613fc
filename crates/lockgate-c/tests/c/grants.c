/* Shared memory. */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static void regions(void) {
    NOTHING(LG_E_EMPTY, lg_region_new(0));
    NOTHING(LG_E_NO_ROOM, lg_region_new(UINT64_C(1) << 40));
    lg_region *region = lg_region_new(5000);
    CHECK(region && lg_region_length(region) == 8192 && lg_region_rights(region) == LG_READ_WRITE);
    CHECK(lg_region_offset(region) >= 0x80000000u && lg_region_offset(region) < 0xc0000000u);
    char *address = (char *)lg_region_address(region), copy[4];
    STATUS(LG_OK, lg_region_write(region, 8000, "abc", 4));
    CHECK(strcmp(address + 8000, "abc") == 0);
    STATUS(LG_OK, lg_region_read(region, copy, 8000, 4));
    CHECK(strcmp(copy, "abc") == 0);
    STATUS(LG_E_RANGE, lg_region_read(region, copy, 8190, 4));
    STATUS(LG_E_RANGE, lg_region_write(region, UINT64_MAX, copy, 4));
    STATUS(LG_E_ARGUMENT, lg_region_read(region, NULL, 0, 4));
    STATUS(LG_E_ARGUMENT, lg_region_write(region, 0, NULL, 4));
    STATUS(LG_OK, lg_region_free(region));
    NOTHING(LG_E_HANDLE, lg_region_length(region));
    NOTHING(LG_E_HANDLE, lg_region_address(region));
    NOTHING(LG_E_HANDLE, lg_region_rights(region));
    NOTHING(LG_E_HANDLE, lg_region_offset(region));
}

static lg_domain *sleeper;
static lg_region *shared;

static void *sleeps(void *word) {
    int (*sleep_at)(unsigned *, unsigned, long) = POINTER(int (*)(unsigned *, unsigned, long), bind(sleeper, "sleep_at"));
    CHECK(sleep_at((unsigned *)word, 7, -1) == 0);
    return NULL;
}

/* Words at which both sides sleep. */
static void waits(void) {
    lg_module *module = open_module("guest.lg");
    sleeper = new_domain(module, NULL);
    shared = lg_region_new(4096);
    lg_grant *grant = lg_grant_new(sleeper, shared, LG_READ_WRITE);
    unsigned *word = (unsigned *)lg_grant_pointer(grant, 0);
    int (*sleep_at)(unsigned *, unsigned, long) = POINTER(int (*)(unsigned *, unsigned, long), bind(sleeper, "sleep_at"));
    int (*wake_at)(unsigned *) = POINTER(int (*)(unsigned *), bind(sleeper, "wake_at"));
    STATUS(LG_OK, lg_region_write(shared, 0, "\7\0\0\0", 4));
    STATUS(LG_E_PENDING, lg_region_wait(shared, 0, 7, 1));
    STATUS(LG_OK, lg_region_wait(shared, 0, 8, -1));
    STATUS(LG_E_RANGE, lg_region_wait(shared, 2, 7, 1));
    STATUS(LG_E_RANGE, lg_region_wait(shared, 4096, 7, 1));
    NOTHING(LG_E_RANGE, lg_region_wake(shared, 1));
    CHECK(sleep_at(word, 7, 1000) == -ETIMEDOUT && sleep_at(word, 8, -1) == -EAGAIN);

    /* A domain's thread, woken by the host. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleeps, (void *)word) == 0);
    while (lg_region_wake(shared, 0) == 0)
        sched_yield();
    CHECK(pthread_join(thread, NULL) == 0);

    /* The host's descriptor, told by a domain. */
    int event = eventfd(0, EFD_NONBLOCK), blocking = eventfd(0, 0);
    uint64_t count = 0;
    STATUS(LG_E_FILE, lg_region_notify(shared, 0, blocking));
    STATUS(LG_E_FILE, lg_region_notify(shared, 0, 0));
    STATUS(LG_E_ARGUMENT, lg_region_notify(shared, 0, -2));
    STATUS(LG_E_RANGE, lg_region_notify(shared, 4094, event));
    STATUS(LG_OK, lg_region_notify(shared, 4, event));
    CHECK(wake_at(word) == 0 && read(event, &count, 8) == -1 && errno == EAGAIN);
    CHECK(wake_at(word + 1) == 0 && read(event, &count, 8) == 8 && count == 1);
    CHECK(lg_region_wake(shared, 4) == 0 && read(event, &count, 8) == 8 && count == 1);
    STATUS(LG_OK, lg_region_notify(shared, 4, -1));
    CHECK(wake_at(word + 1) == 0 && read(event, &count, 8) == -1);
    for (int i = 0; i < 64; i++)
        STATUS(LG_OK, lg_region_notify(shared, 4 * i, event));
    STATUS(LG_E_FILE, lg_region_notify(shared, 4 * 64, event));
    STATUS(LG_OK, lg_region_notify(shared, 0, event));
    close(blocking);
    close(event);

    /* Who can only read neither sleeps nor wakes. */
    STATUS(LG_OK, lg_grant_downgrade(grant, LG_READ));
    CHECK(sleep_at(word, 7, 1000) == -EACCES && wake_at(word) == -EACCES);
    STATUS(LG_OK, lg_grant_free(grant));
    CHECK(sleep_at(word, 0, 1000) == -EFAULT);
    STATUS(LG_OK, lg_region_free(shared));
    NOTHING(LG_E_HANDLE, lg_region_wake(shared, 0));
    STATUS(LG_E_HANDLE, lg_region_wait(shared, 0, 0, 0));
    STATUS(LG_E_HANDLE, lg_region_notify(shared, 0, -1));
}

static void from_elsewhere(void) {
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), 8192) == 0);
    lg_region *region = lg_region_from_file(fileno(file), 4096, 4096, LG_READ_WRITE);
    char byte;
    CHECK(region && lg_region_length(region) == 4096);
    STATUS(LG_OK, lg_region_read(region, &byte, 0, 1));
    CHECK(ftruncate(fileno(file), 4096) == 0);
    STATUS(LG_E_LOST, lg_region_read(region, &byte, 0, 1));
    NOTHING(LG_E_FILE, lg_region_from_file(fileno(file), 0, 1 << 20, LG_READ));
    NOTHING(LG_E_UNALIGNED, lg_region_from_file(fileno(file), 1, 4096, LG_READ));
    NOTHING(LG_E_ARGUMENT, lg_region_from_file(-1, 0, 4096, LG_READ));
    NOTHING(LG_E_ARGUMENT, lg_region_from_file(fileno(file), 0, 4096, (lg_rights)7));

    static char data[8192];
    char *page = (char *)(((uintptr_t)data + 4095) & ~(uintptr_t)4095);
    NOTHING(LG_E_PRIVATE, lg_region_from_host(page, 4096, LG_READ));
    NOTHING(LG_E_UNALIGNED, lg_region_from_host(page + 1, 4096, LG_READ));
    NOTHING(LG_E_NOT_MAPPED, lg_region_from_host((void *)0x10000, 4096, LG_READ));
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy((char *)shared, "mine");
    region = lg_region_from_host(shared, 4096, LG_READ);
    CHECK(region && munmap(shared, 4096) == 0);
    char copy[5];
    STATUS(LG_OK, lg_region_read(region, copy, 0, 5));
    CHECK(strcmp(copy, "mine") == 0);
    STATUS(LG_E_UPGRADE, lg_region_write(region, 0, "x", 1));
    lg_module *module = open_module("guest.lg");
    lg_domain *domain = new_domain(module, NULL);
    NOTHING(LG_E_UPGRADE, lg_grant_new(domain, region, LG_READ_WRITE));
    NOTHING(LG_E_WINDOW, lg_region_from_host((void *)(uintptr_t)(lg_domain_base(domain) + 0x10000), 4096, LG_READ));
}

static void grants(void) {
    lg_module *module = open_module("guest.lg");
    lg_domain *one = new_domain(module, NULL), *two = new_domain(module, NULL);
    lg_region *region = lg_region_new(4096);
    void (*write_one)(int *, int) = POINTER(void (*)(int *, int), bind(one, "write_int"));
    void (*write_two)(int *, int) = POINTER(void (*)(int *, int), bind(two, "write_int"));
    int (*read_two)(const int *) = POINTER(int (*)(const int *), bind(two, "read_int"));
    lg_grant *first = lg_grant_new(one, region, LG_READ_WRITE);
    CHECK(first && lg_grant_rights(first) == LG_READ_WRITE);
    NOTHING(LG_E_OVERLAP, lg_grant_new(one, region, LG_READ));
    int *at = (int *)lg_grant_pointer(first, 16);
    write_one(at, 77);
    RETURNED();
    CHECK(((int *)lg_region_address(region))[4] == 77);
    STATUS(LG_OK, lg_memory_check(one, at, 4, LG_READ_WRITE));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(two, (char *)at - lg_domain_base(one) + lg_domain_base(two), 4, LG_READ));
    NOTHING(LG_E_RANGE, lg_grant_pointer(first, 4097));
    lg_grant *second = lg_grant_pass_on(first, two, LG_READ);
    int *there = (int *)lg_grant_pointer(second, 16);
    CHECK(read_two(there) == 77);
    RETURNED();
    STATUS(LG_OK, lg_memory_check(two, there, 4, LG_READ));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(two, there, 4, LG_READ_WRITE));
    write_two(there, 1);
    FAILED(LG_E_FAULT);
    NOTHING(LG_E_UPGRADE, lg_grant_pass_on(second, new_domain(module, NULL), LG_READ_WRITE));
    STATUS(LG_OK, lg_grant_downgrade(first, LG_READ));
    STATUS(LG_E_UPGRADE, lg_grant_downgrade(first, LG_READ_WRITE));
    write_one(at, 1);
    FAILED(LG_E_FAULT);
    STATUS(LG_OK, lg_grant_free(first));
    read_two(there);
    FAILED(LG_E_FAULT);
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_rights(second));
    NOTHING(LG_E_GRANT_REVOKED, lg_grant_pointer(second, 0));
    STATUS(LG_OK, lg_grant_free(second));
    STATUS(LG_E_HANDLE, lg_grant_free(second));
    STATUS(LG_E_HANDLE, lg_grant_downgrade(first, LG_READ));
    STATUS(LG_OK, lg_grant_free(NULL));
    for (int i = 0; i < 64; i++)
        CHECK(lg_grant_new(one, lg_region_new(4096), LG_READ));
    NOTHING(LG_E_TOO_MANY, lg_grant_new(one, region, LG_READ));
}

int main(void) {
    regions();
    waits();
    from_elsewhere();
    grants();
    return 0;
}
