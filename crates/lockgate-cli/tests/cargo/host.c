#include <lockgate.h>
#include <stdio.h>
#include <string.h>

static int log_line(const char *text) {
    int *lines = lg_user_data();
    (void)text;
    return ++*lines;
}

static int failed(const char *what) {
    printf("%s: %s\n", what, lg_last_message());
    return 1;
}

int main(int argc, char **argv) {
    int lines = 0;
    lg_options *options = lg_options_new();
    lg_options_gate(options, "int32_t host_log(const char *)", (lg_code)log_line, &lines);
    lg_module *module = lg_module_open(argv[argc - 1]);
    lg_domain *domain = lg_domain_new(module, options);
    if (!domain)
        return failed("no domain");
    int (*words)(const char *) =
        (int (*)(const char *))lg_function_pointer(lg_bind(domain, "int words(const char *)", LG_DEFAULT));
    int (*log_twice)(int64_t) =
        (int (*)(int64_t))lg_function_pointer(lg_bind(domain, "int log_twice(int64_t)", LG_DEFAULT));
    int (*divide)(int, int) =
        (int (*)(int, int))lg_function_pointer(lg_bind(domain, "int divide(int, int)", LG_DEFAULT));
    if (!words || !log_twice || !divide)
        return failed("no function");
    char *text = lg_memory_alloc_copy(domain, "a b c a", 8);
    int many = words(text), logged = log_twice(7), seven = divide(49, 7);
    if (lg_failed() && lg_take_call_error())
        return failed("a call");
    divide(1, 0);
    if (!lg_failed() || !lg_take_call_error())
        return puts("no error"), 1;
    printf("%d words, %d, %d, %d: %s\n", many, logged, lines, seven, lg_last_message());
    return 0;
}
