"""System calls that Python has no function for, and the way results are written down."""

import ctypes
import errno
import os

libc = ctypes.CDLL("libc.so.6", use_errno=True)

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
FALLOC_FL_KEEP_SIZE = 1
FALLOC_FL_PUNCH_HOLE = 2
FALLOC_FL_ZERO_RANGE = 16
AT_FDCWD = -100


def _checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def renameat2(old, new, flags):
    """renameat2(2)."""
    _checked(libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags))


def fallocate(descriptor, mode, offset, length):
    """fallocate(2)."""
    _checked(libc.fallocate(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length)))


def name_of(error):
    """ENOENT for errno 2."""
    # Linux has two names for one number.
    if error.errno == errno.EOPNOTSUPP:
        return "EOPNOTSUPP"
    return errno.errorcode.get(error.errno, str(error.errno))


def result_of(function, *arguments):
    """What a call gives: its value, or the name of its errno."""
    try:
        return function(*arguments)
    except OSError as error:
        return name_of(error)
