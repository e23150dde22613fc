/* The module's allocator, for the host (lockgate_abi::symbol::ALLOC, FREE). */
#include <stdlib.h>

void *_lg_alloc(size_t size) { return malloc(size); }

void _lg_free(void *block) { free(block); }
