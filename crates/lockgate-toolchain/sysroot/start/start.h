/* What the entry points of a module share. */
#ifndef LOCKGATE_START_H
#define LOCKGATE_START_H

/* libc's own initialisation, thread-local storage of the first thread included; no constructors yet. */
void lg_start_libc(long *stack) __attribute__((visibility("hidden")));

#endif
