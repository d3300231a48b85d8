/* not_a_plugin.c - a shared object that has nothing to do with us. */
__attribute__((visibility("default"))) int answer(void);
int answer(void)
{
    return 42;
}
