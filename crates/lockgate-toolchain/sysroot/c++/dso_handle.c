/* What destructors of static objects are registered for: the module. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
