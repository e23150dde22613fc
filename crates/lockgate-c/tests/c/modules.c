/* Modules, handles and errors. */
#include "check.h"
#include <sys/mman.h>
#include <sys/resource.h>

static void files(void) {
    NOTHING(LG_E_READ, lg_module_open("no such file.lg"));
    SAYS("no such file.lg");
    NOTHING(LG_E_PARSE, lg_module_open("garbage.lg"));
    NOTHING(LG_E_REJECTED, lg_module_open("refused.lg"));
    SAYS("syscall");
    NOTHING(LG_E_ARGUMENT, lg_module_open(NULL));
    NOTHING(LG_E_ARGUMENT, lg_module_open("\xff\xfe"));
    SAYS("UTF-8");
    NOTHING(LG_E_ARGUMENT, lg_module_from_bytes(NULL, 5));
    NOTHING(LG_E_PARSE, lg_module_from_bytes("", 0));
    NOTHING(LG_E_PARSE, lg_module_from_bytes("garbage", 7));
}

/* Bytes that take no memory until they are copied. */
static void too_many(void) {
    const size_t gigabyte = (size_t)1 << 30;
    void *sparse = mmap(NULL, 64 * gigabyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(sparse != MAP_FAILED);
    NOTHING(LG_E_READ, lg_module_from_bytes(sparse, gigabyte + 1));
    SAYS("at most 1073741824 are allowed");
    NOTHING(LG_E_READ, lg_module_from_bytes(sparse, 64 * gigabyte));
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* whose allocators end the program */
    struct rlimit all, few;
    CHECK(getrlimit(RLIMIT_AS, &all) == 0);
    few = all;
    few.rlim_cur = 64 * gigabyte;
    CHECK(setrlimit(RLIMIT_AS, &few) == 0);
    NOTHING(LG_E_READ, lg_module_from_bytes(sparse, gigabyte));
    SAYS("memory");
    CHECK(setrlimit(RLIMIT_AS, &all) == 0);
#endif
    CHECK(munmap(sparse, 64 * gigabyte) == 0);
}

/* A process that may make no file as large as those in which the library keeps modules and code. (The kernel's signal ends others.) */
static void small_files(void) {
    struct rlimit all, few;
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    few = all;
    few.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    NOTHING(LG_E_MEMORY, lg_module_open("guest.lg"));
    SAYS("File too large");
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
    CHECK(lg_module_open("guest.lg"));
}

static void bytes(void) {
    static char file[1 << 22];
    FILE *stream = fopen("guest.lg", "rb");
    CHECK(stream);
    size_t size = fread(file, 1, sizeof file, stream);
    fclose(stream);
    lg_module *module = lg_module_from_bytes(file, size);
    CHECK(module);
    memset(file, 0, size);
    CHECK(strcmp(lg_module_name(module), "module") == 0);
    lg_domain *domain = new_domain(module, NULL);
    STATUS(LG_OK, lg_module_free(module));
    int (*same)(int) = POINTER(int (*)(int), bind(domain, "int same(int)"));
    CHECK(same(3) == 3);
    RETURNED();
    STATUS(LG_OK, lg_domain_free(domain));
}

static void contents(lg_module *module) {
    CHECK(strcmp(lg_module_name(module), "guest.lg") == 0);
    size_t count = lg_module_export_count(module), found = 0;
    CHECK(count > 20);
    for (size_t i = 0; i < count; i++)
        if (strcmp(lg_module_export_name(module, i), "half") == 0)
            found += strcmp(lg_module_export_prototype(module, i), "double half(double)") == 0;
    CHECK(found == 1);
    NOTHING(LG_E_ARGUMENT, lg_module_export_name(module, count));
    NOTHING(LG_E_ARGUMENT, lg_module_export_prototype(module, (size_t)-1));
    CHECK(lg_module_import_count(module) == 2);
    found = 0;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(lg_module_import_name(module, i), "host_add") == 0)
            found += strcmp(lg_module_import_prototype(module, i), "int host_add(int, int)") == 0;
    CHECK(found == 1);
    NOTHING(LG_E_ARGUMENT, lg_module_import_name(module, 2));
    NOTHING(LG_E_ARGUMENT, lg_module_import_prototype(module, 2));
    lg_report report;
    STATUS(LG_OK, lg_module_report(module, &report, sizeof report));
    CHECK(report.text_bytes > 1000 && report.instructions > 100 && report.gate_count > 0);
    STATUS(LG_E_ARGUMENT, lg_module_report(module, NULL, sizeof report));
    STATUS(LG_E_ARGUMENT, lg_module_report(module, &report, sizeof report + 1));
    uint64_t text = report.text_bytes;
    memset(&report, 0xee, sizeof report);
    STATUS(LG_OK, lg_module_report(module, &report, sizeof report.text_bytes)); /* an older header */
    CHECK(report.text_bytes == text && report.instructions == UINT64_C(0xeeeeeeeeeeeeeeee));
}

static void handles(lg_module *module) {
    NOTHING(LG_E_HANDLE, lg_module_name(NULL));
    SAYS("NULL");
    lg_domain *domain = new_domain(module, NULL);
    NOTHING(LG_E_HANDLE, lg_module_name((lg_module *)domain));
    SAYS("something else");
    NOTHING(LG_E_HANDLE, lg_domain_name((lg_domain *)(uintptr_t)0x1234));
    NOTHING(LG_E_HANDLE, lg_domain_name((lg_domain *)&domain));
    STATUS(LG_E_HANDLE, lg_module_free((lg_module *)domain));
    STATUS(LG_OK, lg_domain_free(domain));
    STATUS(LG_E_HANDLE, lg_domain_free(domain));
    SAYS("freed");
    NOTHING(LG_E_HANDLE, lg_domain_name(domain));
    NOTHING(LG_E_HANDLE, lg_domain_base(domain));
    NOTHING(LG_E_HANDLE, lg_bind(domain, "same", LG_DEFAULT));
    NOTHING(LG_E_HANDLE, lg_domain_new(NULL, NULL));
    STATUS(LG_OK, lg_module_free(NULL));
    STATUS(LG_OK, lg_domain_free(NULL));
    STATUS(LG_OK, lg_function_free(NULL));
    STATUS(LG_OK, lg_callback_free(NULL));
}

int main(void) {
    CHECK(lg_last_status() == LG_OK && *lg_last_message() == 0 && !lg_last_fault() && !lg_last_backtrace());
    CHECK(strcmp(lg_version(), "0.1.0") == 0);
    CHECK(strcmp(lg_status_name(LG_E_FAULT), "LG_E_FAULT") == 0);
    CHECK(strcmp(lg_status_name(-1), "unknown") == 0);
    files();
    too_many();
    small_files();
    bytes();
    lg_module *module = open_module("guest.lg");
    contents(module);
    handles(module);
    STATUS(LG_OK, lg_module_free(module));
    lg_clear_error();
    CHECK(lg_last_status() == LG_OK);
    return 0;
}
