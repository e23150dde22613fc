/* Names, versions, principals; links between domains; what others see. */
#include "check.h"
#include <unistd.h>

static lg_module *guest, *client;

static lg_domain *named(lg_module *module, const char *name) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_name(options, name));
    lg_domain *domain = new_domain(module, options);
    STATUS(LG_OK, lg_options_free(options));
    return domain;
}

static lg_export *export_of(const char *name, uint16_t minor, const char *function) {
    lg_export *what = lg_export_new(name, 1, minor);
    CHECK(what);
    STATUS(LG_OK, lg_export_of(what, function));
    return what;
}

static int doubled(int x) { return 2 * x; }

static void names_and_versions(void) {
    lg_registry *registry = lg_registry_new();
    lg_domain *server = named(guest, "server");
    lg_export *what = export_of("number.same", 2, "same");
    STATUS(LG_OK, lg_export_policy(what, LG_COUNTED));
    STATUS(LG_OK, lg_export_allow_everyone(what));
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    STATUS(LG_E_TAKEN, lg_registry_export(registry, server, what));
    STATUS(LG_E_DOMAIN_TAKEN, lg_registry_export(registry, named(guest, "server"), export_of("other", 0, "same")));
    STATUS(LG_E_MISSING, lg_registry_export(registry, server, export_of("other", 0, "no_such_function")));
    lg_names *names = lg_registry_names(registry);
    uint16_t major = 0, minor = 0;
    CHECK(lg_names_count(names) == 1);
    CHECK(strcmp(lg_names_get(names, 0, &major, &minor), "number.same") == 0 && major == 1 && minor == 2);
    CHECK(lg_names_get(names, 0, NULL, NULL));
    NOTHING(LG_E_ARGUMENT, lg_names_get(names, 1, NULL, NULL));
    STATUS(LG_OK, lg_names_free(names));

    STATUS(LG_E_ARGUMENT, lg_registry_export(registry, server, export_of("", 0, "same")));
    STATUS(LG_E_ARGUMENT, lg_registry_export(registry, server, export_of("two\nlines", 0, "same")));
    STATUS(LG_E_ARGUMENT, lg_registry_export(registry, server, export_of("\x1b[2J", 0, "same")));

    lg_function *same = lg_registry_bind(registry, LG_PROCESS, lg_request_new("number.same", 1, 0));
    CHECK(same && POINTER(int (*)(int), same)(4) == 4);
    CHECK(lg_function_policy(same) & LG_COUNTED);
    CHECK(lg_registry_bind_as(registry, LG_PROCESS, lg_request_newest("number.same"), "int f(int)"));
    NOTHING(LG_E_SIGNATURE, lg_registry_bind_as(registry, LG_PROCESS, lg_request_newest("number.same"), "int f(long)"));
    NOTHING(LG_E_VERSION, lg_registry_bind(registry, LG_PROCESS, lg_request_new("number.same", 1, 3)));
    NOTHING(LG_E_VERSION, lg_registry_bind(registry, LG_PROCESS, lg_request_new("number.same", 2, 0)));
    NOTHING(LG_E_UNKNOWN, lg_registry_bind(registry, LG_PROCESS, lg_request_newest("number.sane")));
    SAYS("number.same");
    NOTHING(LG_E_UNKNOWN, lg_registry_bind(LG_PROCESS_REGISTRY, LG_PROCESS, lg_request_newest("number.same"))); /* another registry */
    lg_request *late = lg_request_newest("later");
    STATUS(LG_OK, lg_request_wait(late, 10));
    NOTHING(LG_E_LATE, lg_registry_bind(registry, LG_PROCESS, late));
    NOTHING(LG_E_HANDLE, lg_registry_bind(registry, LG_PROCESS, NULL));

    lg_export *host = lg_export_new("number.doubled", 1, 0);
    STATUS(LG_OK, lg_export_allow_everyone(host));
    STATUS(LG_OK, lg_registry_export_host(registry, "int doubled(int)", (lg_code)doubled, NULL, host));
    NOTHING(LG_E_HOST_FUNCTION, lg_registry_bind(registry, LG_PROCESS, lg_request_newest("number.doubled")));
    lg_domain *caller = new_domain(client, NULL);
    STATUS(LG_OK, lg_registry_link(registry, caller, "remote", LG_PROCESS, lg_request_newest("number.doubled")));
    STATUS(LG_E_IMPORT, lg_registry_link(registry, caller, "nothing", LG_PROCESS, lg_request_newest("number.doubled")));
    int (*forward)(int) = POINTER(int (*)(int), bind(caller, "forward"));
    CHECK(forward(4) == 1008);

    STATUS(LG_OK, lg_registry_unexport(registry, "number.same"));
    STATUS(LG_E_UNKNOWN, lg_registry_unexport(registry, "number.same"));
    CHECK(POINTER(int (*)(int), same)(4) == 4);
    RETURNED();
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    lg_function *again = lg_registry_bind(registry, LG_PROCESS, lg_request_newest("number.same"));
    STATUS(LG_OK, lg_registry_revoke(registry, "number.same", 0));
    POINTER(int (*)(int), again)(4);
    FAILED(LG_E_REVOKED);
    POINTER(int (*)(int), same)(4); /* bound before the name was unexported */
    FAILED(LG_E_REVOKED);
    STATUS(LG_E_UNKNOWN, lg_registry_revoke(registry, "number.same", 0));
    STATUS(LG_E_UNKNOWN_DOMAIN, lg_registry_remove(registry, "nobody"));
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    int (*direct)(int) = POINTER(int (*)(int), bind(server, "same"));
    CHECK(direct(4) == 4);
    STATUS(LG_OK, lg_registry_remove(registry, "server"));
    direct(4);
    FAILED(LG_E_KILLED);
    STATUS(LG_OK, lg_export_free(what));
    STATUS(LG_OK, lg_registry_free(registry));
}

static void who_may(void) {
    lg_registry *registry = lg_registry_new();
    lg_domain *server = named(guest, "server");
    lg_token token, other;
    STATUS(LG_OK, lg_token_new(&token));
    STATUS(LG_OK, lg_token_new(&other));
    STATUS(LG_E_ARGUMENT, lg_token_new(NULL));
    CHECK(memcmp(&token, &other, sizeof token) != 0);
    lg_export *what = export_of("secret", 0, "same");
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    lg_request *request = lg_request_newest("secret");
    NOTHING(LG_E_FORBIDDEN, lg_registry_bind(registry, lg_principal_process(), request));
    STATUS(LG_OK, lg_registry_unexport(registry, "secret"));

    lg_principal *user = lg_principal_user(54321), *member = lg_principal_nobody(), *holder = lg_principal_nobody();
    lg_principal *domain = lg_principal_domain("friend"), *wrong = lg_principal_nobody();
    STATUS(LG_OK, lg_principal_in_group(member, 7));
    STATUS(LG_OK, lg_principal_with(holder, &token));
    STATUS(LG_OK, lg_principal_with(wrong, &other));
    STATUS(LG_E_ARGUMENT, lg_principal_with(wrong, NULL));
    lg_principal *all[] = {user, member, holder, domain};
    for (int allowed = 0; allowed < 4; allowed++) {
        what = export_of("secret", 0, "same");
        STATUS(LG_OK, allowed == 0   ? lg_export_allow_user(what, 54321)
                      : allowed == 1 ? lg_export_allow_group(what, 7)
                      : allowed == 2 ? lg_export_allow_token(what, &token)
                                     : lg_export_allow_domain(what, "friend"));
        STATUS(LG_OK, lg_registry_export(registry, server, what));
        for (int asking = 0; asking < 4; asking++)
            CHECK((lg_registry_bind(registry, all[asking], request) != NULL) == (asking == allowed));
        NOTHING(LG_E_FORBIDDEN, lg_registry_bind(registry, wrong, request));
        STATUS(LG_OK, lg_registry_unexport(registry, "secret"));
        STATUS(LG_OK, lg_export_free(what));
    }
    STATUS(LG_E_ARGUMENT, lg_export_allow_token(export_of("x", 0, "same"), NULL));
    STATUS(LG_OK, lg_principal_free(user));
    STATUS(LG_OK, lg_request_free(request));
}

/* What a constructor that failed has returned has no rights: NULL is an error, and not the strongest that there is. */
static void what_failed_may_nothing(void) {
    lg_registry *registry = lg_registry_new();
    lg_domain *server = named(guest, "server"), *caller = new_domain(client, NULL);
    lg_export *what = export_of("remote", 0, "same");
    STATUS(LG_OK, lg_export_allow_user(what, geteuid()));
    STATUS(LG_E_ARGUMENT, lg_export_allow_user(what, UINT32_MAX));
    STATUS(LG_E_ARGUMENT, lg_export_allow_group(what, UINT32_MAX));
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    lg_request *request = lg_request_newest("remote");
    CHECK(lg_registry_bind(registry, LG_PROCESS, request));
    lg_options *options = lg_options_new();
    for (int way = 0; way < 3; way++) {
        lg_clear_error();
        lg_principal *failed = way == 0   ? lg_principal_domain("viewer\xff")
                               : way == 1 ? lg_principal_domain(NULL)
                                          : lg_principal_user(UINT32_MAX);
        CHECK(!failed && lg_last_status() == LG_E_ARGUMENT);
        NOTHING(LG_E_HANDLE, lg_registry_bind(registry, failed, request));
        NOTHING(LG_E_HANDLE, lg_registry_bind_as(registry, failed, request, "int same(int)"));
        STATUS(LG_E_HANDLE, lg_registry_link(registry, caller, "remote", failed, request));
        STATUS(LG_E_HANDLE, lg_options_registry(options, registry, failed));
    }
    STATUS(LG_E_ARGUMENT, lg_principal_in_group(lg_principal_nobody(), UINT32_MAX));
    STATUS(LG_E_HANDLE, lg_registry_export(NULL, server, what));
    STATUS(LG_E_HANDLE, lg_registry_remove(NULL, "server"));
    NOTHING(LG_E_HANDLE, lg_registry_names(NULL));
    NOTHING(LG_E_HANDLE, lg_registry_bind(NULL, LG_PROCESS, request));
    STATUS(LG_E_HANDLE, lg_options_registry(options, NULL, LG_PROCESS));
    /* Nor is a constant good for another kind of handle. */
    NOTHING(LG_E_HANDLE, lg_registry_bind((lg_registry *)LG_PROCESS, LG_PROCESS, request));
    NOTHING(LG_E_HANDLE, lg_registry_bind(registry, (lg_principal *)LG_PROCESS_REGISTRY, request));
    NOTHING(LG_E_HANDLE, lg_domain_new(guest, (lg_options *)LG_PROCESS));
    STATUS(LG_OK, lg_options_free(options));
    STATUS(LG_OK, lg_registry_free(registry));
}

static void restarts(void) {
    lg_domain *server = named(guest, "restarted");
    lg_export *what = export_of("count", 0, "count");
    STATUS(LG_OK, lg_export_allow_everyone(what));
    STATUS(LG_OK, lg_registry_export(LG_PROCESS_REGISTRY, server, what));
    lg_request *rebinding = lg_request_newest("count"), *not_rebinding = lg_request_newest("count");
    STATUS(LG_OK, lg_request_rebind(rebinding, 1));
    STATUS(LG_OK, lg_request_policy(rebinding, LG_INTEGRITY | LG_TIMED));
    lg_function *one = lg_registry_bind(LG_PROCESS_REGISTRY, LG_PROCESS, rebinding), *two = lg_registry_bind(LG_PROCESS_REGISTRY, LG_PROCESS, not_rebinding);
    int (*rebound)(void) = POINTER(int (*)(void), one), (*lost)(void) = POINTER(int (*)(void), two);
    CHECK(rebound() == 1 && lost() == 2);
    lg_observed *observed = lg_observe((uint32_t)getpid());
    CHECK(observed && lg_observed_count(observed) >= 1);
    const lg_observed_export *seen = NULL;
    for (size_t i = 0; i < lg_observed_count(observed); i++)
        if (strcmp(lg_observed_get(observed, i)->name, "count") == 0)
            seen = lg_observed_get(observed, i);
    CHECK(seen && strcmp(seen->version, "1.0") == 0 && strcmp(seen->server, "domain restarted") == 0);
    CHECK(seen->binding_count == 2);
    CHECK(seen->bindings[0].is_timed + seen->bindings[1].is_timed == 1);
    CHECK(seen->bindings[0].calls + seen->bindings[1].calls == 1);
    NOTHING(LG_E_ARGUMENT, lg_observed_get(observed, 1000));
    STATUS(LG_OK, lg_observed_free(observed));
    NOTHING(LG_E_NO_PROCESS, lg_observe(0x3fffffff));

    STATUS(LG_OK, lg_registry_limit_restarts(LG_PROCESS_REGISTRY, "restarted", 1, 60000));
    lg_domain *again = lg_registry_restart(LG_PROCESS_REGISTRY, "restarted");
    CHECK(again && strcmp(lg_domain_name(again), "restarted") == 0);
    CHECK(rebound() == 1);
    RETURNED();
    lost();
    FAILED(LG_E_RESTARTED);
    NOTHING(LG_E_TOO_OFTEN, lg_registry_restart(LG_PROCESS_REGISTRY, "restarted"));
    NOTHING(LG_E_UNKNOWN_DOMAIN, lg_registry_restart(LG_PROCESS_REGISTRY, "nobody"));
    /* A fault after the call was handed on is reported as the new instance's. */
    CHECK(rebound() == 2);
    STATUS(LG_OK, lg_registry_remove(LG_PROCESS_REGISTRY, "restarted"));
}

static void imports(void) {
    lg_registry *registry = lg_registry_new();
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_registry(options, registry, lg_principal_domain("client")));
    lg_domain *caller = new_domain(client, options);
    int (*forward)(int) = POINTER(int (*)(int), bind(caller, "forward"));
    forward(1);
    FAILED(LG_E_UNRESOLVED);
    SAYS("remote");
    lg_export *what = lg_export_new("remote", 1, 0);
    STATUS(LG_OK, lg_export_of(what, "same"));
    STATUS(LG_OK, lg_export_allow_domain(what, "client"));
    STATUS(LG_OK, lg_registry_export(registry, named(guest, "server"), what));
    CHECK(forward(1) == 1001);
    lg_domain *orphan = new_domain(client, options);
    STATUS(LG_OK, lg_registry_free(registry));
    POINTER(int (*)(int), bind(orphan, "forward"))(1);
    FAILED(LG_E_UNRESOLVED);
    CHECK(forward(1) == 1001);
    RETURNED();
}

static void links(void) {
    lg_domain *server = new_domain(guest, NULL), *caller = new_domain(client, NULL);
    lg_on_failure minus_two = {0, (uint64_t)-2}, propagate = {1, 0};
    int (*forward)(int) = POINTER(int (*)(int), bind(caller, "forward"));
    int (*through)(void *, int) = POINTER(int (*)(void *, int), bind(caller, "through"));
    STATUS(LG_OK, lg_domain_link(caller, "remote", server, "same", LG_DEFAULT, NULL));
    CHECK(forward(1) == 1001);
    STATUS(LG_E_IMPORT, lg_domain_link(caller, "nothing", server, "same", LG_DEFAULT, NULL));
    STATUS(LG_E_MISSING, lg_domain_link(caller, "remote", server, "nothing", LG_DEFAULT, NULL));
    STATUS(LG_E_SIGNATURE, lg_domain_link(caller, "remote", server, "half", LG_DEFAULT, NULL));
    STATUS(LG_E_SIGNATURE, lg_domain_link(caller, "remote", server, "long same(long)", LG_DEFAULT, NULL));
    STATUS(LG_OK, lg_domain_link(caller, "remote", server, "int same(int)", LG_DEFAULT, NULL));
    STATUS(LG_OK, lg_domain_link(caller, "remote", server, "deep", LG_INTEGRITY, &minus_two));
    CHECK(forward(1) == 998);
    RETURNED();
    STATUS(LG_OK, lg_domain_link(caller, "remote", server, "deep", LG_DEFAULT, NULL));
    CHECK(forward(1) == 999);
    RETURNED();
    STATUS(LG_OK, lg_domain_link(caller, "remote", server, "deep", LG_DEFAULT, &propagate));
    forward(1);
    FAILED(LG_E_CALLEE);
    CHECK(lg_last_fault() && lg_last_fault()->kind == LG_FAULT_STACK_OVERFLOW);
    NOTHING(LG_E_NO_SIGNATURE, lg_callback_to(caller, server, "same", LG_DEFAULT, NULL));
    lg_callback *pointer = lg_callback_to(caller, server, "int same(int)", LG_DEFAULT, NULL);
    CHECK(pointer && through(lg_callback_pointer(pointer), 5) == 5);
    RETURNED();
    NOTHING(LG_E_MISSING, lg_callback_to(caller, server, "int nothing(int)", LG_DEFAULT, NULL));
    STATUS(LG_OK, lg_callback_free(pointer));
    lg_request *request = lg_request_newest("failing");
    STATUS(LG_OK, lg_request_on_failure(request, &minus_two));
    lg_registry *registry = lg_registry_new();
    lg_export *what = lg_export_new("failing", 1, 0);
    STATUS(LG_OK, lg_export_of(what, "deep"));
    STATUS(LG_OK, lg_export_allow_everyone(what));
    STATUS(LG_OK, lg_registry_export(registry, server, what));
    STATUS(LG_OK, lg_registry_link(registry, caller, "remote", LG_PROCESS, request));
    CHECK(forward(1) == 998);
}

int main(void) {
    guest = open_module("guest.lg");
    client = open_module("client.lg");
    NOTHING(LG_E_NO_EXPORTS, lg_observe((uint32_t)getpid()));
    names_and_versions();
    who_may();
    what_failed_may_nothing();
    restarts();
    imports();
    links();
    return 0;
}
