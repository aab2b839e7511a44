/// gpgme, as Swift imports it.
#ifndef PASSDIR_CGPGME_SHIM_H
#define PASSDIR_CGPGME_SHIM_H

#define _FILE_OFFSET_BITS 64

#include <gpgme.h>

#endif
