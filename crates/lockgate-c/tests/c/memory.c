/* Memory of domains, and modules that lie about it. */
#include "check.h"
#include <stdint.h>

static void honest(lg_module *module) {
    lg_domain *domain = new_domain(module, NULL);
    int number = 5, again = 0;
    int *at = (int *)lg_memory_alloc(domain, sizeof number);
    CHECK(at);
    STATUS(LG_OK, lg_memory_write(domain, at, &number, sizeof number));
    CHECK(POINTER(int (*)(const int *), bind(domain, "read_int"))(at) == 5);
    POINTER(void (*)(int *, int), bind(domain, "write_int"))(at, 6);
    STATUS(LG_OK, lg_memory_read(domain, &again, at, sizeof again));
    CHECK(again == 6 && *at == 6); /* one address space */
    STATUS(LG_OK, lg_memory_check(domain, at, sizeof *at, LG_READ_WRITE));
    CHECK(lg_memory_copy(&again, at, sizeof again) == 0 && again == 6);
    CHECK(lg_memory_copy((void *)(uintptr_t)(lg_domain_base(domain) + 8), &again, sizeof again) == sizeof again);
    STATUS(LG_OK, lg_memory_free(domain, at));

    char *text = (char *)lg_memory_alloc_copy(domain, "some text", 10), copy[16];
    size_t length = 0;
    CHECK(POINTER(size_t (*)(const char *), bind(domain, "length"))(text) == 9);
    STATUS(LG_OK, lg_memory_read_string(domain, copy, sizeof copy, text, &length));
    CHECK(length == 9 && strcmp(copy, "some text") == 0);
    STATUS(LG_OK, lg_memory_read_string(domain, copy, 10, text, NULL));
    STATUS(LG_E_UNTERMINATED, lg_memory_read_string(domain, copy, 9, text, NULL));
    STATUS(LG_E_ARGUMENT, lg_memory_read_string(domain, copy, 0, text, NULL));
    STATUS(LG_E_ARGUMENT, lg_memory_read_string(domain, NULL, 9, text, NULL));
    STATUS(LG_E_ARGUMENT, lg_memory_read(domain, NULL, text, 1));
    STATUS(LG_E_ARGUMENT, lg_memory_write(domain, text, NULL, 1));
    STATUS(LG_OK, lg_memory_read(domain, NULL, text, 0));
    NOTHING(LG_E_ARGUMENT, lg_memory_alloc_copy(domain, NULL, 1));
    NOTHING(LG_E_NO_MEMORY, lg_memory_alloc(domain, (size_t)1 << 40));
    /* Sizes that no memory has, and places where no value of the type can be. */
    const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX - 1, SIZE_MAX};
    for (int i = 0; i < 3; i++) {
        STATUS(LG_E_ARGUMENT, lg_memory_read(domain, copy, text, sizes[i]));
        STATUS(LG_E_ARGUMENT, lg_memory_write(domain, text, copy, sizes[i]));
        STATUS(LG_E_ARGUMENT, lg_memory_read_string(domain, copy, sizes[i], text, NULL));
        NOTHING(LG_E_ARGUMENT, lg_memory_alloc_copy(domain, copy, sizes[i]));
        NOTHING(LG_E_ARGUMENT, lg_module_from_bytes(copy, sizes[i]));
        SAYS("no memory holds");
        lg_value none = {LG_SIGNED, {0}, {NULL, 0}};
        lg_function *function = bind(domain, "read_int");
        STATUS(LG_E_ARGUMENT, lg_call(function, &none, sizes[i], &none));
        STATUS(LG_E_ARGUMENT, lg_call(function, (lg_value *)((char *)&none + 1), 1, &none));
        SAYS("no multiple of");
        none.bytes.at = copy;
        none.bytes.size = sizes[i];
        none.type = LG_STRUCT;
        STATUS(LG_E_ARGUMENT, lg_call(function, &none, 1, &none));
        SAYS("no memory holds");
        STATUS(LG_OK, lg_function_free(function));
    }
    NOTHING(LG_E_HANDLE, lg_memory_alloc(NULL, 1));
    NOTHING(LG_E_ARGUMENT, lg_memory_alloc(LG_CALLER, 1));
    SAYS("LG_CALLER");
    STATUS(LG_OK, lg_domain_kill(domain));
    NOTHING(LG_E_KILLED, lg_memory_alloc(domain, 1));
}

static void pointers(lg_domain *domain) {
    char byte = 0, text[64];
    uint64_t base = lg_domain_base(domain);
    void *(*any)(uintptr_t) = POINTER(void *(*)(uintptr_t), bind(domain, "any_pointer"));
    const uintptr_t bad[] = {0,
                             8,
                             (uintptr_t)base,
                             (uintptr_t)base + 0x7fff0000,
                             (uintptr_t)base + 0x90000000u,  /* shared memory that nobody granted */
                             (uintptr_t)base + 0xffffffffu,
                             0xffffffff,
                             UINTPTR_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *claimed = any(bad[i]);
        CHECK((uintptr_t)claimed == bad[i]);
        STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, claimed, 1, LG_READ));
        STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, claimed, 1, LG_READ_WRITE));
        STATUS(LG_E_INACCESSIBLE, lg_memory_read(domain, &byte, claimed, 1));
        STATUS(LG_E_INACCESSIBLE, lg_memory_read_string(domain, text, sizeof text, claimed, NULL));
        STATUS(LG_E_INACCESSIBLE, lg_memory_write(domain, claimed, &byte, 1));
    }
    /* The host's own memory is not the domain's; what is read is the domain's at the same low half, if anything. */
    char mine = 'm';
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, any((uintptr_t)&mine), 1, LG_READ));
    if (lg_memory_write(domain, any((uintptr_t)&mine), "x", 1) == LG_OK)
        CHECK(mine == 'm');
    /* Past its end, around the end of the address space. */
    char *block = (char *)lg_memory_alloc(domain, 100);
    STATUS(LG_OK, lg_memory_check(domain, block, 100, LG_READ_WRITE));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, block, (size_t)1 << 33, LG_READ));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, block, SIZE_MAX, LG_READ));
    STATUS(LG_E_ARGUMENT, lg_memory_check(domain, block, 1, (lg_rights)2));
    /* Another address with the same low half: the module's own accesses would go to the block, the host's would not. */
    char *alias = block + ((uintptr_t)1 << 40);
    STATUS(LG_OK, lg_memory_read(domain, &byte, alias, 1));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, alias, 1, LG_READ));
    /* Code can be read, not written. */
    char *code = (char *)(uintptr_t)(base + 0x20000);
    STATUS(LG_OK, lg_memory_check(domain, code, 64, LG_READ));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, code, 64, LG_READ_WRITE));
    STATUS(LG_E_INACCESSIBLE, lg_memory_write(domain, code, "x", 1));
}

static void strings(lg_domain *domain) {
    char text[256];
    size_t (*lie)(void) = POINTER(size_t (*)(void), bind(domain, "lie"));
    char *endless = POINTER(char *(*)(void), bind(domain, "endless"))();
    char *edge = POINTER(char *(*)(void), bind(domain, "on_the_edge"))();
    RETURNED();
    STATUS(LG_E_UNTERMINATED, lg_memory_read_string(domain, text, sizeof text, endless, NULL));
    STATUS(LG_E_INACCESSIBLE, lg_memory_read_string(domain, text, sizeof text, edge, NULL));
    STATUS(LG_E_INACCESSIBLE, lg_memory_check(domain, endless, lie(), LG_READ));
}

static int measured;
static int measure(const char *text) {
    char copy[32];
    measured++;
    if (lg_memory_read_string(LG_CALLER, copy, sizeof copy, text, NULL) != LG_OK)
        return -(int)lg_last_status();
    return (int)strlen(copy);
}

static void heaps(lg_domain *domain) {
    char *block = (char *)lg_memory_alloc(domain, 100);
    STATUS(LG_OK, lg_memory_write(domain, block, "text", 5));
    int (*ask)(uintptr_t) = POINTER(int (*)(uintptr_t), bind(domain, "measure"));
    CHECK(ask((uintptr_t)block) == 4 && ask(0) == -(int)LG_E_INACCESSIBLE);
    CHECK(ask((uintptr_t)&measured) < 0 || measured == 3);
    POINTER(void (*)(char *), bind(domain, "break_heap"))(block);
    lg_status status = lg_memory_free(domain, block);
    CHECK(status == LG_E_FAULT || status == LG_OK); /* its own affair */
    STATUS(LG_E_FAULT, lg_memory_free(domain, (void *)(uintptr_t)(lg_domain_base(domain) + 16)));
}

int main(void) {
    honest(open_module("guest.lg"));
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_gate(options, "int host_measure(const char *)", (lg_code)measure, NULL));
    lg_domain *hostile = new_domain(open_module("hostile.lg"), options);
    pointers(hostile);
    strings(hostile);
    heaps(hostile);
    return 0;
}
