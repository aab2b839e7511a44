/// libgit2, as Swift imports it.
#ifndef PASSDIR_CGIT_SHIM_H
#define PASSDIR_CGIT_SHIM_H

#include <git2.h>
#include <git2/sys/commit.h>
#include <git2/sys/stream.h>

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
} passdir_git_stream;

#endif
