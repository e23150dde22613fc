/* Functions of another process: a server and its clients, forked children of both, a server that dies, and one that lies. */
#define bind bind_function /* sockets have another one */
#include "check.h"
#undef bind
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/lockgate-remote-XXXXXX", path[200];

/* ---- The server ---- */

static lg_domain *served_domain(lg_module *module, const char *name) {
    lg_options *options = lg_options_new();
    STATUS(LG_OK, lg_options_name(options, name));
    STATUS(LG_OK, lg_options_time_limit(options, 2000));
    lg_domain *domain = new_domain(module, options);
    STATUS(LG_OK, lg_options_free(options));
    return domain;
}

static void export_to(lg_registry *registry, lg_domain *domain, const char *name, const char *function, uint32_t user) {
    lg_export *what = lg_export_new(name, 1, 2);
    STATUS(LG_OK, lg_export_of(what, function));
    STATUS(LG_OK, lg_export_allow_user(what, user));
    STATUS(LG_OK, lg_registry_export(registry, domain, what));
    STATUS(LG_OK, lg_export_free(what));
}

/* Commands come by `commands`, and each is answered by a byte. */
static void serve(int commands, int answers) {
    lg_module *module = open_module("guest.lg");
    lg_registry *registry = lg_registry_new();
    lg_domain *domain = served_domain(module, "codec");
    const char *functions[] = {"same", "half", "third", "small", "sum9", "turn", "count", "total", "invert", "spin", "divide"};
    lg_offer *offer = lg_offer_new();
    CHECK(offer);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char name[40];
        snprintf(name, sizeof name, "codec.%s", functions[i]);
        export_to(registry, domain, name, functions[i], geteuid());
        if (strcmp(functions[i], "total") == 0)
            STATUS(LG_OK, lg_offer_function(offer, name, "long total(const int numbers[count], unsigned count)"));
        else if (strcmp(functions[i], "invert") == 0)
            STATUS(LG_OK, lg_offer_function(offer, name, "int invert(unsigned count, unsigned char bytes[count])"));
        else
            STATUS(LG_OK, lg_offer_name(offer, name));
    }
    export_to(registry, served_domain(module, "leaver"), "codec.leave", "leave", geteuid());
    STATUS(LG_OK, lg_offer_name(offer, "codec.leave"));
    export_to(registry, domain, "codec.secret", "same", geteuid() + 1);
    STATUS(LG_OK, lg_offer_name(offer, "codec.secret"));
    export_to(registry, domain, "codec.hidden", "same", geteuid());
    lg_offer *other = lg_offer_new();
    STATUS(LG_OK, lg_offer_function(other, "codec.same", "char *same(int)"));
    NOTHING(LG_E_PROTOTYPE, lg_registry_serve(registry, path, other));
    STATUS(LG_E_ARGUMENT, lg_offer_name(other, NULL));
    STATUS(LG_E_ARGUMENT, lg_offer_function(other, "x", NULL));
    STATUS(LG_E_ARGUMENT, lg_offer_limit_clients(other, 0, 1));
    STATUS(LG_E_ARGUMENT, lg_offer_limit_client(other, 1, 0));
    STATUS(LG_E_ARGUMENT, lg_offer_limit_bytes(other, 0));
    STATUS(LG_OK, lg_offer_free(other));
    STATUS(LG_OK, lg_offer_limit_clients(offer, 8, 8));
    STATUS(LG_OK, lg_offer_limit_client(offer, 2, 300));
    STATUS(LG_OK, lg_offer_limit_bytes(offer, 8192));
    NOTHING(LG_E_LISTEN, lg_registry_serve(registry, "/nowhere/at/all", offer));
    NOTHING(LG_E_ARGUMENT, lg_registry_serve(registry, NULL, offer));
    NOTHING(LG_E_HANDLE, lg_registry_serve(registry, path, NULL));
    NOTHING(LG_E_HANDLE, lg_registry_serve(NULL, path, offer));
    lg_served *served = lg_registry_serve(registry, path, offer);
    CHECK(served);
    NOTHING(LG_E_TAKEN, lg_registry_serve(registry, path, offer));
    struct stat seen;
    CHECK(stat(path, &seen) == 0 && (seen.st_mode & 0777) == 0600);
    STATUS(LG_OK, lg_offer_free(offer));
    pid_t child = 0;
    char command = 'b';
    do {
        switch (command) {
        case 'f': /* A child that frees what its parent serves, and one that stays. */
            child = fork();
            if (child == 0) {
                STATUS(LG_OK, lg_served_free(served));
                _exit(0);
            }
            int status;
            CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
            break;
        case 'r':
            CHECK(lg_registry_restart(registry, "codec"));
            break;
        case 'v':
            STATUS(LG_OK, lg_registry_revoke(registry, "codec.half", 0));
            break;
        case 'e':
            STATUS(LG_OK, lg_served_free(served));
            STATUS(LG_E_HANDLE, lg_served_free(served));
            break;
        case 's':
            child = fork();
            if (child == 0) {
                /* It holds its parent's sockets as long as the test wants, and no pipe that tells of the test's end. */
                close(STDOUT_FILENO);
                close(STDERR_FILENO);
                alarm(300);
                for (;;)
                    pause();
            }
            CHECK(write(answers, &child, sizeof child) == sizeof child);
            break;
        }
        CHECK(write(answers, &command, 1) == 1);
    } while (read(commands, &command, 1) == 1);
    _exit(0);
}

static pid_t server;
static int commands, answers;

static char answer(void) {
    char byte = 0;
    CHECK(read(answers, &byte, 1) == 1);
    return byte;
}

static void ask(char command) {
    CHECK(write(commands, &command, 1) == 1);
    CHECK(answer() == command);
}

static void start(void) {
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        close(to[1]);
        close(from[0]);
        serve(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    commands = to[1], answers = from[0];
    CHECK(answer() == 'b');
}

static void end(int signal) {
    if (signal)
        CHECK(kill(server, signal) == 0);
    close(commands);
    close(answers);
    CHECK(waitpid(server, NULL, 0) == server);
}

/* ---- Its clients ---- */

static lg_remote *connected(int64_t time_limit) {
    lg_remote *remote = lg_remote_connect(path, time_limit);
    CHECK(remote);
    return remote;
}

/* What a test has bound, and may have freed. */
static lg_remote_function *all[400];
static size_t count_of_all;

static void free_all(void) {
    while (count_of_all > 0)
        (void)lg_remote_function_free(all[--count_of_all]);
}

static lg_remote_function *bound(lg_remote *remote, const char *name, const char *prototype) {
    lg_request *request = lg_request_newest(name);
    lg_remote_function *function = lg_remote_bind(remote, request, prototype);
    CHECK(function);
    STATUS(LG_OK, lg_request_free(request));
    CHECK(count_of_all < sizeof all / sizeof *all);
    return all[count_of_all++] = function;
}

#define REMOTE(type, function) ((type)lg_remote_pointer(function))

static const char TOTAL[] = "long total(const int numbers[count], unsigned count)";
static const char INVERT[] = "int invert(unsigned count, unsigned char bytes[count])";

struct pair {
    double x;
    long n;
};

static lg_value buffer(void *at, size_t size) {
    lg_value value = {LG_BUFFER, {0}, {NULL, 0}};
    value.bytes.at = at, value.bytes.size = size;
    return value;
}

static void values_and_buffers(void) {
    lg_remote *remote = connected(-1);
    lg_remote_function *same = bound(remote, "codec.same", "int same(int)");
    CHECK(strcmp(lg_remote_function_prototype(same), "int32_t same(int32_t)") == 0);
    CHECK(strcmp(lg_remote_function_domain(same), "codec") == 0);
    lg_value number = signed_value(-7), result = {LG_SIGNED, {0}, {NULL, 0}};
    STATUS(LG_OK, lg_remote_call(same, &number, 1, &result));
    CHECK(result.as.i == -7);
    STATUS(LG_OK, lg_remote_call(same, &number, 1, NULL));
    CHECK(REMOTE(int (*)(int), same)(-8) == -8);
    RETURNED();
    CHECK(REMOTE(double (*)(double), bound(remote, "codec.half", "double half(double)"))(5) == 2.5);
    CHECK(REMOTE(float (*)(float), bound(remote, "codec.third", "float third(float)"))(6) == 2);
    const char *small = "unsigned char small(unsigned char, short)";
    CHECK(REMOTE(unsigned char (*)(unsigned char, short), bound(remote, "codec.small", small))(250, -3) == 247);
    const char *sum = "long sum9(long a, long b, long c, long d, long e, long f, long g, long h, long i)";
    long (*sum9)(long, long, long, long, long, long, long, long, long) =
        REMOTE(long (*)(long, long, long, long, long, long, long, long, long), bound(remote, "codec.sum9", sum));
    CHECK(sum9(1, 2, 3, 4, 5, 6, 7, 8, 9) == 285);
    RETURNED();
    const char *turned = "struct { double x; long n; } turn(struct { double x; long n; })";
    lg_remote_function *turn = bound(remote, "codec.turn", turned);
    struct pair before = {2.5, 7}, after = REMOTE(struct pair (*)(struct pair), turn)(before);
    CHECK(after.x == 7 && after.n == 2);
    lg_value given = {LG_STRUCT, {0}, {&before, sizeof before}}, taken = {LG_STRUCT, {0}, {&after, sizeof after}};
    before.x = -4;
    STATUS(LG_OK, lg_remote_call(turn, &given, 1, &taken));
    CHECK(after.x == 7 && after.n == -4);

    const int numbers[] = {1, -20, 300};
    lg_remote_function *total = bound(remote, "codec.total", TOTAL);
    lg_value two[] = {buffer((void *)numbers, sizeof numbers), {LG_UNSIGNED, {3}, {NULL, 0}}};
    STATUS(LG_OK, lg_remote_call(total, two, 2, &result));
    CHECK(result.as.i == 281);
    long (*pointer)(const int *, unsigned) = REMOTE(long (*)(const int *, unsigned), total);
    CHECK(pointer(numbers, 3) == 281 && pointer(numbers + 1, 1) == -20 && pointer(NULL, 0) == 0);
    RETURNED();
    unsigned char bytes[] = {0, 1, 0xf0, 7};
    lg_remote_function *invert = bound(remote, "codec.invert", INVERT);
    lg_value back[] = {{LG_UNSIGNED, {2}, {NULL, 0}}, buffer(bytes, 2)};
    STATUS(LG_OK, lg_remote_call(invert, back, 2, &result));
    CHECK(result.as.i == 2 && bytes[0] == 0xff && bytes[1] == 0xfe && bytes[2] == 0xf0);
    int (*inverted)(unsigned, unsigned char *) = REMOTE(int (*)(unsigned, unsigned char *), invert);
    CHECK(inverted(3, bytes + 1) == 3 && bytes[1] == 1 && bytes[2] == 0xf && bytes[3] == 0xf8);
    RETURNED();

    /* What does not fit: the function is not called, and nothing is written. */
    two[0].bytes.size--;
    STATUS(LG_E_ARGUMENT, lg_remote_call(total, two, 2, &result));
    STATUS(LG_E_ARGUMENT, lg_remote_call(total, two, 1, &result));
    two[0] = signed_value(1);
    STATUS(LG_E_ARGUMENT, lg_remote_call(total, two, 2, &result));
    two[0] = buffer(NULL, 12);
    STATUS(LG_E_ARGUMENT, lg_remote_call(total, two, 2, &result));
    STATUS(LG_E_ARGUMENT, lg_remote_call(same, two, 1, &result));
    STATUS(LG_E_ARGUMENT, lg_remote_call(same, NULL, 1, &result));
    result.type = LG_DOUBLE;
    STATUS(LG_E_ARGUMENT, lg_remote_call(same, &number, 1, &result));
    STATUS(LG_E_HANDLE, lg_remote_call(NULL, &number, 1, NULL));
    CHECK(!lg_failed());
    pointer(NULL, 3);
    FAILED(LG_E_ARGUMENT);
    static unsigned char many[8193];
    CHECK(inverted(8192, many) == 8192 && many[8191] == 0xff);
    RETURNED();
    CHECK(inverted(8193, many) == 0 && many[0] == 0xff);
    FAILED(LG_E_ARGUMENT);
    NOTHING(LG_E_HANDLE, lg_remote_pointer(NULL));
    NOTHING(LG_E_HANDLE, lg_remote_function_prototype(NULL));
    NOTHING(LG_E_HANDLE, lg_remote_function_domain(NULL));
    /* An error that was not asked for is forgotten at the next call. */
    pointer(NULL, 3);
    CHECK(pointer(numbers, 1) == 1);
    RETURNED();
    STATUS(LG_OK, lg_remote_function_free(total));
    STATUS(LG_E_HANDLE, lg_remote_function_free(total));
    pointer(numbers, 1);
    FAILED(LG_E_GONE);
    /* Functions keep the connection. */
    STATUS(LG_OK, lg_remote_free(remote));
    STATUS(LG_E_HANDLE, lg_remote_free(remote));
    CHECK(REMOTE(int (*)(int), same)(3) == 3);
    RETURNED();
}

static lg_remote_function *asks(lg_remote *remote, lg_request *request, const char *prototype) {
    lg_remote_function *function = lg_remote_bind(remote, request, prototype);
    STATUS(LG_OK, lg_request_free(request));
    return function;
}

static void names(void) {
    lg_remote *remote = connected(-1);
    const char *same = "int same(int)";
    NOTHING(LG_E_UNKNOWN, lg_remote_bind(remote, lg_request_newest("codec.nothing"), same));
    NOTHING(LG_E_UNKNOWN, lg_remote_bind(remote, lg_request_newest("codec.hidden"), same));
    NOTHING(LG_E_FORBIDDEN, lg_remote_bind(remote, lg_request_newest("codec.secret"), same));
    NOTHING(LG_E_VERSION, lg_remote_bind(remote, lg_request_new("codec.same", 1, 3), same));
    CHECK(asks(remote, lg_request_new("codec.same", 1, 1), same));
    NOTHING(LG_E_SIGNATURE, lg_remote_bind(remote, lg_request_newest("codec.same"), "int same(long)"));
    NOTHING(LG_E_PROTOTYPE, lg_remote_bind(remote, lg_request_newest("codec.same"), "int same(char *)"));
    NOTHING(LG_E_PROTOTYPE, lg_remote_bind(remote, lg_request_newest("codec.same"), "nonsense"));
    NOTHING(LG_E_REFUSED, lg_remote_bind(remote, lg_request_newest("codec.total"), "long total(int numbers[count], unsigned count)"));
    NOTHING(LG_E_ARGUMENT, lg_remote_bind(remote, lg_request_newest("codec.same"), NULL));
    NOTHING(LG_E_HANDLE, lg_remote_bind(remote, NULL, same));
    NOTHING(LG_E_HANDLE, lg_remote_bind(NULL, lg_request_newest("codec.same"), same));
    lg_request *late = lg_request_newest("codec.later");
    STATUS(LG_OK, lg_request_wait(late, 20));
    NOTHING(LG_E_LATE, lg_remote_bind(remote, late, same));
    NOTHING(LG_E_CONNECT, lg_remote_connect("/nowhere/at/all", -1));
    NOTHING(LG_E_ARGUMENT, lg_remote_connect(NULL, -1));
    STATUS(LG_OK, lg_remote_free(remote));
}

/* What a client may have bound, and a process may have pointers of. */
static void pointers(void) {
    enum { POINTERS = 256, FUNCTIONS = 300 };
    static lg_remote_function *functions[FUNCTIONS];
    static lg_code had[POINTERS];
    lg_remote *remote = connected(-1);
    /* Handles of one function are functions of their own. */
    for (int i = 0; i < FUNCTIONS; i++)
        functions[i] = bound(remote, "codec.same", "int same(int)");
    NOTHING(LG_E_REFUSED, lg_remote_bind(remote, lg_request_newest("codec.same"), "int same(int)"));
    for (int i = 0; i < POINTERS; i++) {
        had[i] = lg_remote_pointer(functions[i]);
        CHECK(had[i] && had[i] == lg_remote_pointer(functions[i]));
        CHECK(((int (*)(int))had[i])(i) == i);
        for (int other = 0; other < i; other++)
            CHECK(had[i] != had[other]);
    }
    NOTHING(LG_E_NO_POINTERS, lg_remote_pointer(functions[POINTERS]));
    STATUS(LG_OK, lg_remote_function_free(functions[9]));
    CHECK(lg_remote_pointer(functions[POINTERS]) == had[9]);
    for (int i = 0; i < FUNCTIONS; i++)
        STATUS(i == 9 ? LG_E_HANDLE : LG_OK, lg_remote_function_free(functions[i]));
    STATUS(LG_OK, lg_remote_free(remote));
}

static void faults_and_limits(void) {
    lg_remote *remote = connected(-1), *brief = connected(100);
    lg_remote_function *leave = bound(remote, "codec.leave", "void leave(int)");
    lg_value three = signed_value(3);
    STATUS(LG_E_FAULT, lg_remote_call(leave, &three, 1, NULL));
    const lg_fault *fault = lg_last_fault();
    CHECK(fault && fault->kind == LG_FAULT_EXIT && fault->detail == 3);
    CHECK(strcmp(fault->domain, "leaver") == 0 && strcmp(fault->entry_point, "codec.leave") == 0);
    CHECK(strcmp(fault->report, lg_last_message()) == 0 && !fault->function && *fault->module == 0);
    CHECK(!lg_last_backtrace());
    int (*divide)(int, int) = REMOTE(int (*)(int, int), bound(remote, "codec.divide", "int divide(int, int)"));
    CHECK(divide(7, 0) == 0);
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_FPE);
    SAYS("called at divide");
    CHECK(divide(7, 2) == 3);
    RETURNED();
    REMOTE(void (*)(void), bound(brief, "codec.spin", "void spin(void)"))();
    FAILED(LG_E_FAULT);
    CHECK(lg_last_fault()->kind == LG_FAULT_TIME_OUT);
    SAYS("the time limit passed");
    STATUS(LG_OK, lg_remote_free(brief));
    STATUS(LG_OK, lg_remote_free(remote));
}

static void *calls(void *given) {
    int (*same)(int) = REMOTE(int (*)(int), (lg_remote_function *)given);
    for (int i = 0; i < 500; i++) {
        CHECK(same(i) == i);
        CHECK(!lg_failed());
    }
    return NULL;
}

/* Two calls at once are what this client may make. */
static void threads(void) {
    lg_remote *remote = connected(-1);
    lg_remote_function *same = bound(remote, "codec.same", "int same(int)");
    pthread_t other;
    CHECK(pthread_create(&other, NULL, calls, same) == 0);
    calls(same);
    CHECK(pthread_join(other, NULL) == 0);
    STATUS(LG_OK, lg_remote_function_free(same));
    STATUS(LG_OK, lg_remote_free(remote));
}

static int (*in_handler)(int);
static volatile sig_atomic_t handled;

static void handler(int number) {
    (void)number;
    int result = in_handler(1);
    handled = lg_failed() && lg_take_call_error() == LG_E_SIGNAL_HANDLER && result == 0 ? 1 : 2;
}

/* On an alternate stack it can be told that a handler calls. */
static void signal_handlers(void) {
    static char stack[64 << 10];
    stack_t alternate;
    memset(&alternate, 0, sizeof alternate);
    alternate.ss_sp = stack, alternate.ss_size = sizeof stack;
    CHECK(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler, action.sa_flags = SA_ONSTACK;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    lg_remote *remote = connected(-1);
    lg_remote_function *same = bound(remote, "codec.same", "int same(int)");
    in_handler = REMOTE(int (*)(int), same);
    CHECK(in_handler(5) == 5);
    CHECK(raise(SIGUSR1) == 0 && handled == 1);
    CHECK(in_handler(6) == 6);
    RETURNED();
    STATUS(LG_OK, lg_remote_function_free(same));
    STATUS(LG_OK, lg_remote_free(remote));
}

/* A child has none of its parent's connections, and its parent has them still. */
static void forked_clients(void) {
    lg_remote *remote = connected(-1);
    lg_remote_function *same = bound(remote, "codec.same", "int same(int)");
    int (*pointer)(int) = REMOTE(int (*)(int), same);
    lg_value one = signed_value(1);
    CHECK(pointer(1) == 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        STATUS(LG_E_FORKED, lg_remote_call(same, &one, 1, NULL));
        pointer(1);
        FAILED(LG_E_FORKED);
        NOTHING(LG_E_FORKED, lg_remote_bind(remote, lg_request_newest("codec.same"), "int same(int)"));
        STATUS(LG_OK, lg_remote_function_free(same));
        STATUS(LG_OK, lg_remote_free(remote));
        lg_remote *own = connected(-1);
        CHECK(REMOTE(int (*)(int), bound(own, "codec.same", "int same(int)"))(9) == 9);
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(pointer(2) == 2);
    STATUS(LG_OK, lg_remote_call(same, &one, 1, NULL));
    STATUS(LG_OK, lg_remote_function_free(same));
    STATUS(LG_OK, lg_remote_free(remote));
}

/* What the server's child frees is the child's; restarts and revocation are as inside. */
static void changes(void) {
    lg_remote *remote = connected(-1);
    lg_remote_function *count = bound(remote, "codec.count", "int count(void)");
    lg_remote_function *half = bound(remote, "codec.half", "double half(double)");
    ask('f');
    CHECK(access(path, F_OK) == 0);
    CHECK(REMOTE(int (*)(void), count)() == 1);
    STATUS(LG_OK, lg_remote_free(connected(-1)));
    ask('v');
    REMOTE(double (*)(double), half)(1);
    FAILED(LG_E_REVOKED);
    lg_request *rebinds = lg_request_newest("codec.count");
    STATUS(LG_OK, lg_request_rebind(rebinds, 1));
    lg_remote_function *again = asks(remote, rebinds, "int count(void)");
    CHECK(REMOTE(int (*)(void), again)() == 2);
    ask('r');
    REMOTE(int (*)(void), count)();
    FAILED(LG_E_RESTARTED);
    CHECK(REMOTE(int (*)(void), again)() == 1);
    RETURNED();
    ask('e');
    CHECK(access(path, F_OK) != 0);
    REMOTE(int (*)(void), again)();
    FAILED(LG_E_KILLED);
    lg_value none = signed_value(0);
    STATUS(LG_E_ARGUMENT, lg_remote_call(again, &none, 1, NULL));
    NOTHING(LG_E_CLOSED, lg_remote_bind(remote, lg_request_newest("codec.count"), "int count(void)"));
    NOTHING(LG_E_CONNECT, lg_remote_connect(path, -1));
    STATUS(LG_OK, lg_remote_free(remote));
}

/* A child of a server's holds its sockets when it has ended: clients see that it has, and another one takes its place. Red where the socket alone tells. */
static void a_server_dies(void) {
    lg_remote *remote = connected(20000);
    lg_remote_function *same = bound(remote, "codec.same", "int same(int)");
    CHECK(REMOTE(int (*)(int), same)(1) == 1);
    char command = 's';
    pid_t child;
    CHECK(write(commands, &command, 1) == 1 && read(answers, &child, sizeof child) == sizeof child);
    CHECK(answer() == 's');
    end(SIGKILL);
    REMOTE(int (*)(int), same)(1);
    FAILED(LG_E_KILLED);
    SAYS("codec");
    start();
    lg_remote *next = connected(-1);
    CHECK(REMOTE(int (*)(int), bound(next, "codec.same", "int same(int)"))(2) == 2);
    CHECK(kill(child, SIGKILL) == 0);
    STATUS(LG_OK, lg_remote_free(next));
    STATUS(LG_OK, lg_remote_free(remote));
}

/* A server that answers this, or nothing, or ends the connection. */
static lg_status of_liar(const char *says) {
    char place[40];
    snprintf(place, sizeof place, "%s/liar", folder);
    unlink(place);
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, place, strlen(place) + 1);
    int listens = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    CHECK(listens >= 0 && bind(listens, (struct sockaddr *)&address, sizeof address) == 0 && listen(listens, 1) == 0);
    lg_remote *remote = lg_remote_connect(place, 50);
    CHECK(remote);
    int accepted = accept(listens, NULL, NULL);
    CHECK(accepted >= 0);
    if (!says)
        close(accepted);
    else if (*says)
        CHECK(send(accepted, says, strlen(says), 0) > 0);
    lg_clear_error();
    CHECK(!lg_remote_bind(remote, lg_request_newest("x"), "int x(int)"));
    lg_status status = lg_last_status();
    STATUS(LG_OK, lg_remote_free(remote));
    if (says)
        close(accepted);
    close(listens);
    return status;
}

static void liars(void) {
    CHECK(of_liar("{") == LG_E_PROTOCOL);
    CHECK(of_liar("{\"Bound\":{}}") == LG_E_PROTOCOL);
    CHECK(of_liar("\"Line\"") == LG_E_PROTOCOL);
    CHECK(of_liar("") == LG_E_LATE);
    CHECK(of_liar(NULL) == LG_E_CLOSED);
    CHECK(of_liar("{\"Refused\":{\"Other\":\"no\"}}") == LG_E_REFUSED);
}

int main(void) {
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/codec.share", folder);
    start();
    void (*tests[])(void) = {values_and_buffers, names, pointers, faults_and_limits, threads, signal_handlers, forked_clients, changes};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tests[i]();
        free_all();
    }
    end(0);
    start();
    a_server_dies();
    liars();
    end(0);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
