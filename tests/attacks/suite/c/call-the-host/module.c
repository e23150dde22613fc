long attack(long (*host)(void))
{
    return host();
}
