/* Checks of the test programs. Each program runs in the folder of the modules. */
#ifndef CHECK_H
#define CHECK_H

#include <lockgate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                  \
    do {                                                                                                  \
        if (!(condition)) {                                                                               \
            fprintf(stderr, "%s:%d: not so: %s\nlast error: %s\n", __FILE__, __LINE__, #condition,        \
                    lg_last_message());                                                                   \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

/* A function that returns a status. */
#define STATUS(wanted, call)                                                                              \
    do {                                                                                                  \
        lg_clear_error();                                                                                 \
        int status_ = (int)(call);                                                                        \
        if (status_ != (int)(wanted)) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s, not %s: %s\n", __FILE__, __LINE__, #call,                     \
                    lg_status_name(status_), #wanted, lg_last_message());                                 \
            exit(1);                                                                                      \
        }                                                                                                 \
        if ((wanted) != LG_OK)                                                                            \
            CHECK(lg_last_status() == (wanted) && *lg_last_message() != 0);                               \
    } while (0)

/* One that returns a handle, a pointer or a number, and 0 for an error. */
#define NOTHING(wanted, call)                                                                             \
    do {                                                                                                  \
        lg_clear_error();                                                                                 \
        CHECK(!(call));                                                                                   \
        if (lg_last_status() != (wanted) || *lg_last_message() == 0) {                                    \
            fprintf(stderr, "%s:%d: %s: %s, not %s: %s\n", __FILE__, __LINE__, #call,                     \
                    lg_status_name(lg_last_status()), #wanted, lg_last_message());                        \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

/* The last call through a function pointer. */
#define RETURNED() STATUS(LG_OK, lg_take_call_error())
#define FAILED(wanted)                                                                                    \
    do {                                                                                                  \
        CHECK(lg_failed());                                                                               \
        STATUS(wanted, lg_take_call_error());                                                             \
        CHECK(!lg_failed());                                                                              \
    } while (0)

#define SAYS(text) CHECK(strstr(lg_last_message(), text) != NULL)

/* A bound function as a pointer of a type. */
#define POINTER(type, function) ((type)lg_function_pointer(function))

static inline lg_module *open_module(const char *path) {
    lg_module *module = lg_module_open(path);
    CHECK(module);
    return module;
}

/* (Its start, too, is within its time limit, which may pass on a busy machine.) */
static inline lg_domain *new_domain(lg_module *module, lg_options *options) {
    lg_domain *domain;
    do
        domain = lg_domain_new(module, options);
    while (!domain && lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    CHECK(domain);
    return domain;
}

static inline lg_function *bind(lg_domain *domain, const char *prototype) {
    lg_function *function = lg_bind(domain, prototype, LG_DEFAULT);
    CHECK(function);
    return function;
}

static inline lg_value signed_value(int64_t number) {
    lg_value value = {LG_SIGNED, {0}, {NULL, 0}};
    value.as.i = number;
    return value;
}

#endif
