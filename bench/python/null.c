/* The function that ctypes and Lockgate call: a number in, a number out. */
int null_call(int x)
{
    return x;
}
