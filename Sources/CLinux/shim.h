/// Linux system calls that Swift cannot call: variadic ones, and those that glibc 2.36 has no function for.
#ifndef PASSDIR_CLINUX_SHIM_H
#define PASSDIR_CLINUX_SHIM_H

// First of all: what follows would otherwise make types of glibc, such as `struct stat`, this module's own.
#pragma clang module import SwiftGlibc

// Without _GNU_SOURCE: Swift's Glibc module is built without it, and under it glibc declares some types (fd_set)
// differently, which no target that imports both could bear.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/// O_PATH of open(2), which glibc declares under _GNU_SOURCE only; the number is that of all Linux ports.
static const int PASSDIR_O_PATH = 010000000;

/// O_TMPFILE of open(2), likewise; the first number is the same on all Linux ports.
static const int PASSDIR_O_TMPFILE = 020000000 | O_DIRECTORY;

/// O_NOATIME of open(2), likewise; the same on all Linux ports.
static const int PASSDIR_O_NOATIME = 01000000;

/// POLLRDHUP of poll(2), likewise; the same on all Linux ports but sparc.
static const int PASSDIR_POLLRDHUP = 0x2000;

/// kcmp(2) with KCMP_VM, whose header not all systems have: 0 where two processes share their memory, else above 0; -1 where that
/// may not be known. glibc has no wrapper.
static inline int passdir_compare_memory(int process, int other) {
    return (int)syscall(SYS_kcmp, process, other, 1, 0ul, 0ul);
}

/// openat2(2): glibc has no wrapper. `resolve` takes the RESOLVE_ flags of linux/openat2.h.
static inline int passdir_openat2(int directory, const char *path, uint64_t flags, uint64_t mode,
                                  uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// Flags of renameat2(2): fail when the new name is taken; both names exist, and change places.
static const unsigned int PASSDIR_RENAME_NOREPLACE = 1, PASSDIR_RENAME_EXCHANGE = 2;

/// What PASSDIR_RENAME_NOREPLACE does, where the file system knows no flags. A crash in between leaves a file under both names.
static inline int passdir_rename_without_flags(int from_directory, const char *from, int to_directory, const char *to) {
    struct stat facts;
    if (fstatat(from_directory, from, &facts, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    if (!S_ISDIR(facts.st_mode)) {
        // link(2) puts nothing in the place of another file either.
        if (linkat(from_directory, from, to_directory, to, 0) == 0) return unlinkat(from_directory, from, 0);
        if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
    }
    if (fstatat(to_directory, to, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from_directory, from, to_directory, to);
}

/// renameat2(2) with RENAME_ flags; declared under _GNU_SOURCE only, which Swift's Glibc module does not set. Where the file
/// system knows none, as NFS and most of those of FUSE, PASSDIR_RENAME_NOREPLACE is done in two steps.
static inline int passdir_renameat2(int from_directory, const char *from, int to_directory, const char *to,
                                    unsigned int flags) {
    int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    if (result == 0 || errno != EINVAL || flags != PASSDIR_RENAME_NOREPLACE) return result;
    return passdir_rename_without_flags(from_directory, from, to_directory, to);
}

/// The device (`st_dev`) of what a path leads to, as "major:minor" in two numbers: what the kernel knows of it without asking the
/// file system, whose server may be gone. statx(2), declared under _GNU_SOURCE only.
static inline int passdir_known_device(const char *path, uint32_t *major, uint32_t *minor) {
    struct statx facts;
    int result = (int)syscall(SYS_statx, AT_FDCWD, path, 0x4000 /* AT_STATX_DONT_SYNC */, 0, &facts);
    if (result == 0) {
        *major = facts.stx_dev_major;
        *minor = facts.stx_dev_minor;
    }
    return result;
}

/// pipe2(2) and accept4(2) of glibc are declared under _GNU_SOURCE only.
static inline int passdir_pipe(int ends[2], int flags) {
    return (int)syscall(SYS_pipe2, ends, flags);
}

/// getdents64(2), likewise: as many bytes of entries as there is room for, 0 at the end of the folder.
static inline long passdir_getdents(int folder, void *entries, size_t size) {
    return syscall(SYS_getdents64, folder, entries, size);
}

/// mkostemp(3), likewise: mkstemp(3) with O_CLOEXEC, so that programs we start do not inherit the file.
int mkostemp(char *name, int flags);
static inline int passdir_mkstemp(char *name) {
    return mkostemp(name, O_CLOEXEC);
}

/// accept(2) of a connection that programs we start do not inherit.
static inline int passdir_accept(int socket) {
    return (int)syscall(SYS_accept4, socket, (void *)0, (void *)0, SOCK_CLOEXEC);
}

/// Has all threads share one heap, where glibc takes up to eight for each core. Memory at the end of a heap other than the
/// first is not given back by malloc_trim(3): in an hour of saves and commits two heaps made the process grow from 13 to 18 MB,
/// and one from 12.6 to 15.6 (with small caches for each thread, `ThreadCaches`, from 11.8 to 13.0).
static inline void passdir_share_heap(void) {
    mallopt(M_ARENA_MAX, 1);
}

/// Has blocks of 8 KiB and more in mappings of their own, which go back to the system when they are freed. glibc raises its
/// bound of 128 KiB, up to 32 MiB, each time such a block is freed: what is larger than most then stays with the process. Below
/// that, ciphertexts and texts of all sizes leave holes that the next one does not fit: an hour of saves made the heaps grow
/// from 16 to 21 MB.
static inline void passdir_map_large_blocks(void) {
    mallopt(M_MMAP_THRESHOLD, 8 << 10);
}

/// Whether the program gave us rights that who started us has not: getauxval(3). The loader takes variables away then.
static inline int passdir_is_privileged(void) {
    return getauxval(AT_SECURE) != 0;
}

/// malloc_trim(3): gives memory that was freed back to the system; Swift's Glibc module does not show malloc.h.
static inline void passdir_return_freed_memory(void) {
    malloc_trim(0);
}

/// Sets or clears the attribute "immutable" of an open file or folder, as chattr(1) does: FS_IOC_SETFLAGS of ioctl_iflags(2),
/// whose numbers differ between ports. -1 where the file system has no such attribute or the process may not (EPERM).
static inline int passdir_set_immutable(int descriptor, int is_immutable) {
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return -1;
    int wanted = is_immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return wanted == flags ? 0 : ioctl(descriptor, FS_IOC_SETFLAGS, &wanted);
}

/// prctl(2) with one argument: variadic in C.
static inline int passdir_prctl(int option, unsigned long argument) {
    return prctl(option, argument, 0UL, 0UL, 0UL);
}

/// mremap(2) that may move: variadic in C, and under _GNU_SOURCE only. Returns MAP_FAILED on failure.
static inline void *passdir_mremap(void *address, size_t old_size, size_t new_size) {
    return (void *)syscall(SYS_mremap, address, old_size, new_size, MREMAP_MAYMOVE, (void *)0);
}

/// pidfd_open(2) without flags: glibc 2.36 has the function, but Swift's Glibc module does not show it.
static inline int passdir_pidfd_open(int process) {
    return (int)syscall(SYS_pidfd_open, process, 0U);
}

/// epoll_ctl(2), whose struct is packed on some systems: watches whether a descriptor can be read, for as long as it is open.
static inline int passdir_epoll_add(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

/// epoll_wait(2) that waits for nothing: whether any of the descriptors can be read.
static inline bool passdir_epoll_is_ready(int epoll) {
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, 0) > 0;
}

/// pidfd_send_signal(2): sends `signal` to the process behind a pidfd, and to no other that got its number.
static inline int passdir_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, (void *)0, 0U);
}

/// Who is at the other end of a connected Unix socket, as of when it connected (SO_PEERCRED; struct ucred needs _GNU_SOURCE).
struct passdir_peer {
    /// Its process as this one sees it; 0 where it cannot be seen from here.
    int32_t process;
    uint32_t user;
    uint32_t group;
};

/// Returns whether that is known.
static inline int passdir_peer_of(int socket, struct passdir_peer *peer) {
    socklen_t length = sizeof *peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, peer, &length) == 0;
}

/// The peer's user id; -1 on failure.
static inline int64_t passdir_peer_uid(int socket) {
    struct passdir_peer peer;
    return passdir_peer_of(socket, &peer) ? (int64_t)peer.user : -1;
}

/// The peer's process id; 0 where it cannot be seen from here, or on failure.
static inline int32_t passdir_peer_pid(int socket) {
    struct passdir_peer peer;
    return passdir_peer_of(socket, &peer) ? peer.process : 0;
}

/// glibc 2.34 has these; Swift's Glibc module does not show them. `actions` is a posix_spawn_file_actions_t: the
/// header that declares it would make this module the owner of types that Glibc's module declares.
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(void *actions, const char *path);

/// Closes every descriptor from `from` on in the program that is started.
static inline int passdir_spawn_close_from(void *actions, int from) {
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

/// Starts the program in a folder.
static inline int passdir_spawn_in(void *actions, const char *path) {
    return posix_spawn_file_actions_addchdir_np(actions, path);
}

/// gettid(2), which Glibc's module does not show.
static inline pid_t passdir_gettid(void) { return (pid_t)syscall(SYS_gettid); }

/// pthread_create(3) with a stack of so many bytes (0: what the system gives), detached or to be joined. Its attributes
/// are a union that several modules of C headers declare, so that Swift cannot tell whose it is.
static inline int passdir_thread_create(pthread_t *thread, size_t stack, int detached, void *(*body)(void *),
                                        void *argument) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) return error;
    if (stack) error = pthread_attr_setstacksize(&attributes, stack);
    if (!error && detached) error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (!error) error = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

#endif
