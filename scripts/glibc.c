/* What the C++ library was compiled to find in a newer glibc than wheels are for. */

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* 2.32: whether there is one thread only. Never: counts are then kept with atomic operations. */
char __libc_single_threaded __attribute__((visibility("hidden"))) = 0;

/* 2.36: a random number, which std::random_device gives. */
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
    uint32_t number;
    if (getentropy(&number, sizeof number) != 0) abort();
    return number;
}
