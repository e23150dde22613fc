/* Redis's commands as functions, for programs that have Redis beside them in a domain (docs/program-calls.md): linked to the objects of its server,
 * whose sources are unchanged. What goes in and comes out is what a connection carries, so client libraries make and read it. Calls run in the
 * turns of Redis's loop, as commands of connections do. */
#include "server.h"

/* A client without a connection. It begins as the default user; its database, transaction and watched keys are its own. Commands that would
 * block do not wait, and it gets no messages of channels. Commands that turn a connection into something else (SYNC, PSYNC) are not for it. */
client *redis_open(void)
{
    client *c = createClient(NULL);
    c->flags |= CLIENT_MODULE | CLIENT_DENY_BLOCKING | CLIENT_NO_EVICT; /* replies are kept here; nothing else ends it */
    return c;
}

void redis_close(client *c)
{
    freeClient(c);
}

/* Takes as much of what the commands have answered as there is room for; 0 if nothing is left. */
long redis_read(client *c, char *reply, long room)
{
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

/* Runs commands, and takes as much of the answer as there is room for: redis_read has the rest. -1 after QUIT, or while clients are paused. */
long redis_call(client *c, const char *request, long size, char *reply, long room)
{
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY || checkClientPauseTimeoutAndReturnIfPaused())
        return -1;
    c->querybuf = sdscatlen(c->querybuf, request, size);
    processInputBuffer(c);
    if (server.aof_state == AOF_ON)
        flushAppendOnlyFile(0); /* as the loop does before it answers */
    /* What the loop has to do before it sleeps again: it sleeps already. */
    if (listLength(server.clients_pending_write) || listLength(server.unblocked_clients) || server.tracking_clients)
        (void)!write(server.module_pipe[1], "A", 1);
    return redis_read(c, reply, room);
}

/* GET without a command around it: no statistics of commands, no slow log, no MONITOR, no ACL; database 0. The value's length, as much of which is
 * copied as there is room for; -1 if there is none, -2 if it is no string. */
long redis_get(const char *key, long size, char *value, long room)
{
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
