#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

struct table {
    long (*method)(void *self);
};

struct object {
    const struct table *table;
};

long attack(long (*host)(void *))
{
    struct table table = { host };
    struct object object = { &table };
    struct object *pointer = &object;
    OPAQUE(pointer);
    return pointer->table->method(pointer) + 1;
}
