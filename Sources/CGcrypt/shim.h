/// libgcrypt, as Swift imports it.
#ifndef PASSDIR_CGCRYPT_SHIM_H
#define PASSDIR_CGCRYPT_SHIM_H

#include <gcrypt.h>

#endif
