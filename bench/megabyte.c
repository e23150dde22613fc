/* A module of one megabyte for `lockgate-bench create`: three quarters code, one quarter initialised data. */

static char data[256 << 10] = { 1 };

/* 768 KiB of three-byte additions. Exported, so that the linker keeps it. */
long additions(long x)
{
    __asm__(".rept 768 * 1024 / 3\n\tadd $1, %k0\n\t.endr" : "+r"(x));
    return x;
}

/* What the first call of a new domain runs: one read and one write of its data. */
long touch(long x)
{
    return x + data[x & 0xff]++;
}
