/// libgit2, as Swift imports it.
#ifndef PASSDIR_CGIT_SHIM_H
#define PASSDIR_CGIT_SHIM_H

#include <git2.h>
#include <git2/sys/alloc.h>
#include <git2/sys/commit.h>
#include <git2/sys/stream.h>
#include <stddef.h>
#include <stdint.h>

/// git_libgit2_opts is variadic, which Swift cannot call: one function for each option that is used.
static inline int passdir_git_set_search_path(git_config_level_t level, const char *path) {
    return git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, (int)level, path);
}

/// fsync of what is written under `.git` (objects and refs): libgit2 leaves it off.
static inline int passdir_git_enable_fsync(int enabled) {
    return git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, enabled);
}

/// The file with trusted certificate authorities.
static inline int passdir_git_set_certificates(const char *file) {
    return git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, file, (const char *)NULL);
}

/// A connection of ours. The fields behind `parent` are those of libgit2's own `git_socket_stream`, as its SSH transport
/// takes the descriptor out of there.
typedef struct {
    git_stream parent;
    char *host;
    char *port;
    int descriptor;
    /// Ours alone: what was asked of a proxy (`ServerBoundary.Asked`).
    int asked;
} passdir_git_stream;

/// The parts of a pack that are mapped at a time: `window` bytes each, `limit` bytes in all.
static inline void passdir_git_bound_windows(size_t window, size_t limit) {
    git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, window);
    git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, limit);
}

/// The most bytes of parsed objects that a repository keeps. Large trees are among them, which libgit2 would parse again for
/// each file that is looked up: a folder of ten thousand files would be read ten thousand times.
static inline void passdir_git_bound_cache(ptrdiff_t bytes) {
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, bytes);
    git_libgit2_opts(GIT_OPT_SET_CACHE_OBJECT_LIMIT, GIT_OBJECT_TREE, (size_t)bytes / 4 * 3);
}

// An object is read in one allocation of the size that its header, which others wrote, tells. libgit2 has no limit for
// that, and none for the objects that a delta is made of; its allocator is the one place that sees them all. libgit2's
// own allocator is malloc, too, so that what was taken before the change can be freed after it.
static size_t passdir_git_largest = SIZE_MAX;
static int passdir_git_is_bounded = 0;

static inline void *passdir_git_taken(void *memory) {
    if (!memory) git_error_set_oom();
    return memory;
}
static inline int passdir_git_refuses(size_t count, size_t size) {
    size_t largest = __atomic_load_n(&passdir_git_largest, __ATOMIC_RELAXED);
    if (size == 0 || count <= largest / size) return 0;
    git_error_set_str(GIT_ERROR_NOMEMORY, "it needs an object that is larger than is allowed");
    return 1;
}
static inline void *passdir_git_malloc(size_t n, const char *file, int line) {
    (void)file, (void)line;
    return passdir_git_refuses(n, 1) ? NULL : passdir_git_taken(__builtin_malloc(n ? n : 1));
}
static inline void *passdir_git_calloc(size_t n, size_t size, const char *file, int line) {
    (void)file, (void)line;
    return passdir_git_refuses(n, size) ? NULL : passdir_git_taken(__builtin_calloc(n ? n : 1, size ? size : 1));
}
static inline void *passdir_git_realloc(void *old, size_t n, const char *file, int line) {
    (void)file, (void)line;
    return passdir_git_refuses(n, 1) ? NULL : passdir_git_taken(__builtin_realloc(old, n ? n : 1));
}
static inline void *passdir_git_reallocarray(void *old, size_t n, size_t size, const char *file, int line) {
    return passdir_git_refuses(n, size) ? NULL : passdir_git_realloc(old, n * size, file, line);
}
static inline void *passdir_git_mallocarray(size_t n, size_t size, const char *file, int line) {
    return passdir_git_reallocarray(NULL, n, size, file, line);
}
static inline char *passdir_git_substrdup(const char *text, size_t n, const char *file, int line) {
    char *copy = n < SIZE_MAX ? passdir_git_malloc(n + 1, file, line) : NULL;
    if (!copy) return NULL;
    __builtin_memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}
static inline char *passdir_git_strdup(const char *text, const char *file, int line) {
    return passdir_git_substrdup(text, __builtin_strlen(text), file, line);
}
static inline char *passdir_git_strndup(const char *text, size_t n, const char *file, int line) {
    const char *end = __builtin_memchr(text, 0, n);
    return passdir_git_substrdup(text, end ? (size_t)(end - text) : n, file, line);
}
static inline void passdir_git_free(void *memory) {
    __builtin_free(memory);
}

/// Refuses every single allocation of libgit2 beyond `largest` bytes from now on. Only the first call puts the
/// allocator in place, so it must not run at the same time as another.
static inline int passdir_git_bound_allocations(size_t largest) {
    __atomic_store_n(&passdir_git_largest, largest, __ATOMIC_RELAXED);
    if (passdir_git_is_bounded) return 0;
    passdir_git_is_bounded = 1;
    git_allocator bounded = {
        .gmalloc = passdir_git_malloc,
        .gcalloc = passdir_git_calloc,
        .gstrdup = passdir_git_strdup,
        .gstrndup = passdir_git_strndup,
        .gsubstrdup = passdir_git_substrdup,
        .grealloc = passdir_git_realloc,
        .greallocarray = passdir_git_reallocarray,
        .gmallocarray = passdir_git_mallocarray,
        .gfree = passdir_git_free,
    };
    return git_libgit2_opts(GIT_OPT_SET_ALLOCATOR, &bounded);
}

#endif
