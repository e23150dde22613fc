/* In place of libstdc++'s own, which asks glibc for its version: what musl has, and what libstdc++.a was compiled with. */
#ifndef _GLIBCXX_OS_DEFINES
#define _GLIBCXX_OS_DEFINES 1

#include <features.h>

#undef _GLIBCXX_HAVE_GETS
#define _GLIBCXX_NO_OBSOLETE_ISINF_ISNAN_DYNAMIC 1
#define _GLIBCXX_NATIVE_THREAD_ID pthread_self()
#define _GLIBCXX_GTHREAD_USE_WEAK 0

/* The type of glibc's that bits/c++locale.h speaks of; musl's locale_t is a pointer to the same. */
typedef struct __locale_struct *__locale_t;

#endif
