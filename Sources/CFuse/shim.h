/// The low-level API of libfuse 3.14 and later, as Swift imports it.
#ifndef PASSDIR_CFUSE_SHIM_H
#define PASSDIR_CFUSE_SHIM_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
// Neither _FILE_OFFSET_BITS nor _GNU_SOURCE: struct stat must be the one of Swift's Glibc module. off_t has
// 64 bits on every machine that Swift knows, and libfuse's headers make sure of it.

// The C library as Swift's own Glibc module has it. Its headers are in no other module's map, so without this
// line CFuse would hold a second definition of each struct, and Swift files would need CFuse to use struct stat.
#pragma clang module import SwiftGlibc

#include <errno.h>
#include <fuse_lowlevel.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/// Receives the one file descriptor that fusermount3 sends over `socket`, close-on-exec from the start; -1 at
/// its end or on failure. The CMSG_ macros cannot be imported.
static inline int passdir_fuse_receive_descriptor(int socket) {
    char byte;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t received;
    do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received <= 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

#endif
