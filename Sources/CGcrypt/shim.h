/// libgcrypt, as Swift imports it.
#ifndef PASSDIR_CGCRYPT_SHIM_H
#define PASSDIR_CGCRYPT_SHIM_H

#include <gcrypt.h>

/// gcry_control is variadic, which Swift cannot call: one function for each command that is used.
static inline int passdir_gcry_is_initialized(void) {
    return gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P) != 0;
}

/// Maps so many bytes of secure memory, and no more when they do not suffice: an allocation then fails. Says nothing on
/// standard error where they cannot be locked.
static inline gcry_error_t passdir_gcry_init_secure_memory(unsigned int bytes) {
    gcry_control(GCRYCTL_DISABLE_SECMEM_WARN);
    return gcry_control(GCRYCTL_INIT_SECMEM, bytes, 0);
}

/// Ends the initialisation.
static inline gcry_error_t passdir_gcry_finish_initialization(void) {
    return gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

/// In FIPS mode libgcrypt ends the process where an algorithm is not allowed.
static inline int passdir_gcry_is_fips_mode(void) { return gcry_control(GCRYCTL_FIPS_MODE_P, 0) != 0; }

#endif
