/* What a module says of its own functions decides nothing about the program's memory: binds, symbols, results by value, calls between
 * domains. */
#include "check.h"
#include <dlfcn.h>

typedef int (*takes_pointer)(void *);
typedef int (*takes_int)(int);

static struct session {
    char user[32];
    long is_admin;
    char rest[64];
} session = {"guest", 0, ""};

static void intact(void) {
    CHECK(!strcmp(session.user, "guest") && session.is_admin == 0 && session.rest[0] == 0);
}

static void symbols(void) {
    void *plugin = lg_dlopen("./liar.lg", RTLD_NOW);
    CHECK(plugin);
    CHECK(!lg_dlsym(plugin, "init") && lg_last_status() == LG_E_NO_SIGNATURE);
    CHECK(strstr(lg_dlerror(), "lg_dlsym_typed"));
    CHECK(!lg_dlsym(plugin, "run") && lg_last_status() == LG_E_NO_SIGNATURE);
    CHECK(!lg_dlsym(plugin, "start") && strstr(lg_dlerror(), "lg_dlsym_data")); /* to be called, it says, would be its data */
    CHECK(!lg_dlsym_typed(plugin, "int init(void *)") && lg_last_status() == LG_E_SIGNATURE);
    CHECK(lg_dlclose(plugin) == 0);
    intact();
}

static void binds(void) {
    lg_domain *domain = lg_domain_new(lg_module_open("liar.lg"), NULL);
    NOTHING(LG_E_NO_SIGNATURE, lg_bind(domain, "init", LG_DEFAULT));
    NOTHING(LG_E_NO_SIGNATURE, lg_bind(domain, "run", LG_DEFAULT));
    NOTHING(LG_E_SIGNATURE, lg_bind(domain, "int init(void *)", LG_DEFAULT));
    lg_registry *registry = lg_registry_new();
    lg_export *by_name = lg_export_new("init", 1, 0), *by_host = lg_export_new("said", 1, 0);
    STATUS(LG_OK, lg_export_allow_everyone(by_name));
    STATUS(LG_OK, lg_export_allow_everyone(by_host));
    STATUS(LG_OK, lg_export_of(by_host, "struct { char bytes[64]; } init(void)"));
    STATUS(LG_OK, lg_registry_export(registry, domain, by_name));
    STATUS(LG_OK, lg_registry_export(registry, domain, by_host));
    NOTHING(LG_E_NO_SIGNATURE, lg_registry_bind(registry, lg_principal_nobody(), lg_request_new("init", 1, 0)));
    SAYS("lg_registry_bind_as");
    CHECK(lg_registry_bind(registry, lg_principal_nobody(), lg_request_new("said", 1, 0)));
    CHECK(lg_registry_bind_as(registry, lg_principal_nobody(), lg_request_new("init", 1, 0),
                              "struct { char bytes[64]; } f(void)"));
    intact();
}

static void values(void) {
    char victim[32] = "untouched", room[8];
    lg_domain *domain = lg_domain_new(lg_module_open("liar.lg"), NULL);
    lg_function *aim = lg_bind(domain, "void aim(unsigned long)", LG_DEFAULT);
    lg_function *first = lg_bind(domain, "first", LG_DEFAULT), *second = lg_bind(domain, "second", LG_DEFAULT);
    CHECK(aim && first && second);
    lg_value argument, result;
    memset(&argument, 0, sizeof argument);
    memset(&result, 0xcc, sizeof result); /* as what was never filled in */
    argument.type = LG_UNSIGNED;
    argument.as.u = (uintptr_t)victim;
    result.type = LG_VOID;
    STATUS(LG_OK, lg_call(aim, &argument, 1, &result));
    result.type = LG_UNSIGNED;
    STATUS(LG_OK, lg_call(first, NULL, 0, &result));
    CHECK(result.as.u == (uintptr_t)victim);
    STATUS(LG_E_ARGUMENT, lg_call(second, NULL, 0, &result)); /* a structure, where a number was expected */
    result.type = LG_STRUCT;
    result.bytes.at = room;
    result.bytes.size = sizeof room - 1;
    STATUS(LG_E_ARGUMENT, lg_call(second, NULL, 0, &result));
    result.bytes.size = sizeof room;
    STATUS(LG_OK, lg_call(second, NULL, 0, &result));
    CHECK(!strcmp(room, "PWNED!!") && result.bytes.at == room && result.as.u == (uintptr_t)victim);
    CHECK(!strcmp(victim, "untouched"));
}

int main(void) {
    symbols();
    binds();
    values();
    return 0;
}
