/// libgit2, as Swift imports it.
#ifndef PASSDIR_CGIT_SHIM_H
#define PASSDIR_CGIT_SHIM_H

#include <git2.h>
#include <git2/sys/commit.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/// renameat2(2) with RENAME_ flags, which glibc declares under _GNU_SOURCE only.
static inline int passdir_git_rename(int from_directory, const char *from, int to_directory, const char *to,
                                     unsigned int flags) {
    return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE over the whole file: writing to the disk begins, nobody waits. glibc
/// declares it under _GNU_SOURCE only. It makes a later fsync shorter, so a failure is none.
static inline void passdir_git_start_writeback(int file) {
    (void)syscall(SYS_sync_file_range, file, 0L, 0L, 2U);
}

#endif
