/// libgit2, as Swift imports it.
#ifndef PASSDIR_CGIT_SHIM_H
#define PASSDIR_CGIT_SHIM_H

#include <git2.h>
#include <git2/sys/commit.h>
#include <git2/sys/errors.h>

#endif
