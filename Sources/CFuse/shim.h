/// The low-level API of libfuse 3.12 and later, as Swift imports it.
#ifndef PASSDIR_CFUSE_SHIM_H
#define PASSDIR_CFUSE_SHIM_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#define _FILE_OFFSET_BITS 64

#include <fuse_lowlevel.h>

#endif
