/* A program with a plugin that it does not trust:
 *
 *     lockgate cc -g -O2 -shared words.c -o words.lg --gate 'int host_progress(int)'
 *     cc -g host.c -o host $(pkg-config --cflags --libs lockgate)
 *     ./host words.lg "some words of a text"
 */
#include <lockgate.h>
#include <stdio.h>
#include <string.h>

/* The plugin calls this function of the program's. */
static int progress(int percent) {
    int *reports = lg_user_data();
    ++*reports;
    printf("progress: %d %%\n", percent);
    return 0;
}

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, lg_last_message());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "usage: host MODULE TEXT\n"), 2;
    size_t length = strlen(argv[2]);
    int reports = 0;

    lg_options *options = lg_options_new();
    lg_options_name(options, "words");
    lg_options_memory_limit(options, 16 << 20);
    lg_options_time_limit(options, 100);
    lg_options_gate(options, "int host_progress(int)", (lg_code)progress, &reports);

    lg_module *module = lg_module_open(argv[1]);
    lg_domain *domain = lg_domain_new(module, options);
    if (!domain)
        return failed("no domain");

    /* The program says what it calls; words.lg must agree. */
    int (*count_words)(const char *, size_t) = (int (*)(const char *, size_t))lg_function_pointer(
        lg_bind(domain, "int count_words(const char *, size_t)", LG_DEFAULT));
    char (*last_word)(const char *, size_t) = (char (*)(const char *, size_t))lg_function_pointer(
        lg_bind(domain, "char last_word(const char *, size_t)", LG_DEFAULT));
    if (!count_words || !last_word)
        return failed("no function");

    /* The plugin can reach its own memory only. */
    char *text = lg_memory_alloc_copy(domain, argv[2], length + 1);
    if (!text)
        return failed("no memory");
    int words = count_words(text, length);
    if (lg_failed() && lg_take_call_error())
        return failed("count_words");
    printf("%d words, %d reports\n", words, reports);

    char letter = last_word(text, length);
    if (lg_failed() && lg_take_call_error()) {
        const lg_fault *fault = lg_last_fault();
        printf("the plugin crashed: %s\n", lg_last_message());
        if (fault && fault->file)
            printf("in %s, line %u; the program goes on\n", fault->function, fault->line);
    } else {
        printf("the last word begins with %c\n", letter);
    }

    lg_domain_close(domain);
    lg_options_free(options);
    lg_module_free(module);
    return 0;
}
