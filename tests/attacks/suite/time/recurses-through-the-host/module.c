long host(void);
static volatile long depth;
long attack(void)
{
    if (depth > 8)
        return 0;
    depth++;
    for (;;) {
        host();
        if (depth > 4) break;
    }
    depth--;
    for (;;) host();
}
