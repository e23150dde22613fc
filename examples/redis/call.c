/* Redis's commands as functions, for programs that have Redis beside them in a domain (docs/program-calls.md): linked to the objects of its server,
 * whose sources are unchanged. What goes in and comes out is what a connection carries, so client libraries make and read it. Calls run in the
 * turns of Redis's loop, as commands of connections do. */
#include "server.h"
#include <time.h>

/* A client without a connection, with its place in the server's list of clients, where it is while it runs commands: a command that deletes users looks
 * for their clients there. By the user's name a call tells that the user has been deleted since the last one. */
typedef struct caller {
    client *c;
    listNode place;
    user *is;
    sds user;
} caller;

/* Some commands (MIGRATE, DEBUG SLEEP) wait for time or for other servers, where another turn begins: what a call does waits until they are over, as
 * commands of connections do. In the middle of a long script, and while it loads, Redis itself answers others. */
static void wait_for_command(void)
{
    const struct timespec moment = {0, 100000};
    while (server.current_client && !server.loading && !isInsideYieldingLongCommand())
        nanosleep(&moment, NULL);
}

/* It begins as the default user; its database, transaction and watched keys are its own. It gets answers and nothing else: commands that would wait do
 * not wait, and SUBSCRIBE, MONITOR, CLIENT REPLY, CLIENT TRACKING, RESET, SYNC and PSYNC are not for it. */
caller *redis_open(void)
{
    wait_for_command();
    caller *own = zcalloc(sizeof *own);
    client *c = own->c = createClient(NULL);
    c->flags |= CLIENT_MODULE | CLIENT_DENY_BLOCKING | CLIENT_NO_EVICT; /* replies are kept here; nothing else ends it */
    c->peerid = sdsnew("call:0"); /* as no socket has them */
    c->sockname = sdsnew("call:0");
    own->place.value = c;
    own->is = c->user;
    own->user = sdsnew(c->user->name);
    return own;
}

void redis_close(caller *own)
{
    wait_for_command();
    freeClient(own->c);
    sdsfree(own->user);
    zfree(own);
}

static void enter(listNode *place)
{
    list *all = server.clients;
    place->prev = all->tail;
    place->next = NULL;
    *(all->tail ? &all->tail->next : &all->head) = place;
    all->tail = place;
    all->len++;
}

static void leave(listNode *place)
{
    list *all = server.clients;
    *(place->prev ? &place->prev->next : &all->head) = place->next;
    *(place->next ? &place->next->prev : &all->tail) = place->prev;
    all->len--;
}

/* Whether commands can be run for it: its user is there still, it has not been told to quit, and clients are not paused. */
static int is_open(caller *own)
{
    wait_for_command();
    client *c = own->c;
    if (c->user != DefaultUser && ACLGetUserByName(own->user, sdslen(own->user)) != c->user) {
        c->user = DefaultUser;
        c->authenticated = 0;
        c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    }
    return !(c->flags & CLIENT_CLOSE_AFTER_REPLY) && !checkClientPauseTimeoutAndReturnIfPaused();
}

/* Runs what is given. What waits all the same (WAIT) answers as when its time is over. */
static void run(caller *own, int (*what)(client *))
{
    client *c = own->c;
    enter(&own->place);
    what(c);
    while (unlikely(c->flags & CLIENT_BLOCKED)) {
        replyToBlockedClientTimedOut(c);
        unblockClient(c);
        processInputBuffer(c);
    }
    leave(&own->place);
    if (c->user != own->is) {
        sdsfree(own->user);
        own->user = sdsnew(c->user->name);
        own->is = c->user;
    }
    if (server.aof_state == AOF_ON)
        flushAppendOnlyFile(0); /* as the loop does before it answers */
    /* What the loop has to do before it sleeps again: it sleeps already. */
    if (listLength(server.clients_pending_write) || listLength(server.unblocked_clients) || server.tracking_clients)
        (void)!write(server.module_pipe[1], "A", 1);
}

/* Takes as much of what the commands have answered as there is room for; 0 if nothing is left. */
long redis_read(caller *own, char *reply, long room)
{
    client *c = own->c;
    long taken = 0;
    while (taken < room && clientHasPendingReplies(c)) {
        listNode *first = c->bufpos ? NULL : listFirst(c->reply);
        clientReplyBlock *block = first ? listNodeValue(first) : NULL;
        size_t left = (block ? block->used : (size_t)c->bufpos) - c->sentlen;
        size_t part = left < (size_t)(room - taken) ? left : (size_t)(room - taken);
        memcpy(reply + taken, (block ? block->buf : c->buf) + c->sentlen, part);
        taken += part;
        c->sentlen += part;
        if (part < left)
            break;
        c->sentlen = 0;
        if (block) {
            c->reply_bytes -= block->size;
            listDelNode(c->reply, first);
        } else
            c->bufpos = 0;
    }
    return taken;
}

/* Runs commands, and takes as much of the answer as there is room for: redis_read has the rest. -1 after QUIT, when the client's user has been deleted, as
 * for a connection that is closed, or while clients are paused. */
long redis_call(caller *own, const char *request, long size, char *reply, long room)
{
    if (!is_open(own))
        return -1;
    own->c->querybuf = sdscatlen(own->c->querybuf, request, size);
    run(own, processInputBuffer);
    return redis_read(own, reply, room);
}

int processCommandAndResetClient(client *c);

/* The same for one command, whose arguments lie one behind another: nothing has to be parsed. -1, too, between two parts of a request of redis_call. */
long redis_command(caller *own, long count, const long *sizes, const char *arguments, char *reply, long room)
{
    client *c = own->c;
    if (!is_open(own) || count < 1 || count > 1024 * 1024 || c->reqtype || sdslen(c->querybuf))
        return -1;
    for (long i = 0; i < count; i++)
        if (sizes[i] < 0)
            return -1;
    c->argv = zmalloc(sizeof *c->argv * count);
    c->argv_len = c->argc = count;
    for (long i = 0; i < count; arguments += sizes[i++]) {
        c->argv[i] = createStringObject(arguments, sizes[i]);
        c->argv_len_sum += sizes[i];
    }
    run(own, processCommandAndResetClient);
    return redis_read(own, reply, room);
}

/* GET without a command around it: no statistics of commands, no slow log, no MONITOR, no ACL; database 0. The value's length, as much of which is
 * copied as there is room for; -1 if there is none, -2 if it is no string, -3 while the server loads its data or a script is in the middle of its work. */
long redis_get(const char *key, long size, char *value, long room)
{
    wait_for_command();
    if (server.loading || isInsideYieldingLongCommand())
        return -3;
    robj *name = createStringObject(key, size);
    robj *found = lookupKeyReadWithFlags(server.db, name, LOOKUP_NOEXPIRE);
    decrRefCount(name);
    if (!found)
        return -1;
    if (found->type != OBJ_STRING)
        return -2;
    found = getDecodedObject(found); /* numbers are kept as such */
    long length = sdslen(found->ptr);
    memcpy(value, found->ptr, length < room ? length : room);
    decrRefCount(found);
    return length;
}
