long attack(void)
{
    volatile unsigned number = 0xfa1e0ff3;
    return number;
}
