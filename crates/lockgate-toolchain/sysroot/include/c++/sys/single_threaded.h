/* glibc's: by it libstdc++ counts references without atomic instructions where a program has one thread. */
#ifndef LOCKGATE_SINGLE_THREADED_H
#define LOCKGATE_SINGLE_THREADED_H

extern "C" char __libc_single_threaded;

#endif
