/* What services.c tells guest.c of a level of the stack. */
typedef struct Described {
    int line;
    int has_name;
    char name[60];
    char kind[20];
    char source[60];
} Described;
