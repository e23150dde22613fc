/* A module that calls another one. */
int remote(int x);
int forward(int x) { return remote(x) + 1000; }
int through(int (*function)(int), int x) { return function(x); }
int local(int x) { return x; }
