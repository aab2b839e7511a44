/// libgit2, as Swift imports it.
#ifndef PASSDIR_CGIT_SHIM_H
#define PASSDIR_CGIT_SHIM_H

#include <git2.h>
#include <git2/sys/commit.h>

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

#endif
