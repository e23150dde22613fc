int host_main(int, char **);
int main(int argc, char **argv) { return host_main(argc, argv); }
