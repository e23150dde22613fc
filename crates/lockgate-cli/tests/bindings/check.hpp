// What the programs in C++ check with.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1); \
        } \
    } while (0)

// The call throws an error of this kind, about this parameter (any, if that is null).
#define FAILS(call, wanted, about) \
    do { \
        bool failed = false; \
        try { \
            (void)(call); \
        } catch (const error &error) { \
            failed = error.kind() == (wanted) && (!(about) || !std::strcmp(error.parameter(), (about) ? (about) : "")); \
            if (!failed) \
                std::fprintf(stderr, "%d, %s: %s\n", static_cast<int>(error.kind()), error.parameter(), error.what()); \
        } \
        if (!failed) \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call); \
        if (!failed) \
            std::exit(1); \
    } while (0)
#define ANY static_cast<const char *>(nullptr)
