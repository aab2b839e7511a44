/// zlib, as Swift imports it.
#ifndef PASSDIR_CZLIB_SHIM_H
#define PASSDIR_CZLIB_SHIM_H

#include <zlib.h>

/// inflateInit2 is a macro.
static inline int passdir_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
