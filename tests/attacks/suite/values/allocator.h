/* An allocator whose every answer is one address: `attack` says which. */
#include <stddef.h>
static void *place;
long attack(long where) { place = (void *)where; return 0; }
void *malloc(size_t size) { (void)size; return place; }
void *aligned_alloc(size_t to, size_t size) { (void)to; (void)size; return place; }
void *calloc(size_t n, size_t size) { (void)n; (void)size; return place; }
void *realloc(void *old, size_t size) { (void)old; (void)size; return place; }
void free(void *old) { (void)old; }
