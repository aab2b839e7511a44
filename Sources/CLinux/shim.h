/// Linux system calls that Swift cannot call: variadic ones, and those that glibc 2.36 has no function for.
#ifndef PASSDIR_CLINUX_SHIM_H
#define PASSDIR_CLINUX_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// openat2(2): glibc has no wrapper. `resolve` takes the RESOLVE_ flags of linux/openat2.h.
static inline int passdir_openat2(int directory, const char *path, uint64_t flags, uint64_t mode,
                                  uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// renameat2(2) with RENAME_ flags; declared under _GNU_SOURCE only, which Swift's Glibc module does not set.
static inline int passdir_renameat2(int from_directory, const char *from, int to_directory, const char *to,
                                    unsigned int flags) {
    return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

/// prctl(2) with one argument: variadic in C.
static inline int passdir_prctl(int option, unsigned long argument) {
    return prctl(option, argument, 0UL, 0UL, 0UL);
}

/// mremap(2) that may move: variadic in C. Returns MAP_FAILED on failure.
static inline void *passdir_mremap(void *address, size_t old_size, size_t new_size) {
    return mremap(address, old_size, new_size, MREMAP_MAYMOVE);
}

/// The peer's user id of a connected Unix socket (SO_PEERCRED); struct ucred needs _GNU_SOURCE. -1 on failure.
static inline int64_t passdir_peer_uid(int socket) {
    struct {
        int32_t pid;
        uint32_t uid;
        uint32_t gid;
    } credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    return (int64_t)credentials.uid;
}

#endif
