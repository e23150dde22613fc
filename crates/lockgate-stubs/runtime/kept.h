/* ---- structures that the library remembers by their address --------------------------------------------------------------------- */

/* Memory that only these are in. */
struct lgs_kept_region {
    struct lgs_stage stage;
    size_t used;
    struct lgs_kept_region *next;
};

/* Room for the library's copy of a structure, as long as the domain lives. */
static struct lgs_kept *lgs_kept_new(size_t size)
{
    size_t rounded = (size + 15) & ~(size_t)15;
    struct lgs_kept_region *region = lgs.kept_regions;
    if (!region || region->stage.size - region->used < rounded) {
        region = calloc(1, sizeof *region);
        if (!region || !lgs_region_new(rounded > LGS_STAGE ? (rounded + 4095) & ~(size_t)4095 : LGS_STAGE, &region->stage)) {
            free(region);
            return 0;
        }
        region->next = lgs.kept_regions;
        lgs.kept_regions = region;
    }
    struct lgs_kept *kept = malloc(sizeof *kept);
    if (kept) {
        *kept = (struct lgs_kept){0, 0, lgs_far(region->stage.here, region->used), region->stage.inside + region->used, size, 0};
        region->used += rounded;
    }
    return kept;
}

/* The library's copy of the program's structure at `host`: found, or made. */
static struct lgs_block lgs_keep(struct lgs_call *c, void *host, unsigned type, size_t size, const char *what)
{
    struct lgs_block block = {host, 0, 0, size};
    lgs_need_mark(c);
    if (c->failed || !host)
        return block;
    struct lgs_kept **bucket = &lgs.kept[((uintptr_t)host >> 4) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    struct lgs_kept *kept = *bucket;
    while (kept && (kept->host != host || kept->type != type))
        kept = kept->next;
    if (!kept) {
        struct lgs_kept **spare = &lgs.spare;
        while (*spare && (*spare)->size != size)
            spare = &(*spare)->next;
        if ((kept = *spare)) {
            *spare = kept->next;
            lgs_clear(kept->stage, size);
        } else {
            kept = lgs_kept_new(size);
        }
        if (kept) {
            kept->host = host;
            kept->type = type;
            kept->next = *bucket;
            *bucket = kept;
        }
    }
    pthread_mutex_unlock(&lgs.lock);
    if (!kept) {
        lgs_fail(c, LG_STUB_MEMORY, what, "no memory that can be shared with the domain");
        return block;
    }
    block.here = kept->stage;
    block.inside = kept->inside;
    return block;
}

/* The library will not use its copy again. */
static void lgs_release(const void *host, unsigned type)
{
    struct lgs_kept **at = &lgs.kept[((uintptr_t)host >> 4) % LGS_BUCKETS];
    pthread_mutex_lock(&lgs.lock);
    while (*at && ((*at)->host != host || (*at)->type != type))
        at = &(*at)->next;
    struct lgs_kept *kept = *at;
    if (kept) {
        *at = kept->next;
        kept->next = lgs.spare;
        lgs.spare = kept;
    }
    pthread_mutex_unlock(&lgs.lock);
}
