/// libqrencode, as Swift imports it.
#ifndef PASSDIR_CQRENCODE_SHIM_H
#define PASSDIR_CQRENCODE_SHIM_H

#include <qrencode.h>

#endif
