/* dlsym without its third argument, the caller's return address (for RTLD_NEXT), which lies where no code can read it. */
void *__dlsym(void *restrict library, const char *restrict name, void *restrict caller);

void *dlsym(void *restrict library, const char *restrict name) { return __dlsym(library, name, 0); }
