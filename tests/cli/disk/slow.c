// A disk that is slow to say that it has everything: loaded before the C library (LD_PRELOAD), each fsync waits as many
// milliseconds as the file that $SLOW_DISK names says, for as long as there is one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_disk(void) {
    const char *path = getenv("SLOW_DISK");
    FILE *told = path ? fopen(path, "r") : NULL;
    unsigned milliseconds = 0;
    if (!told) return;
    if (fscanf(told, "%u", &milliseconds) == 1) usleep(milliseconds * 1000);
    fclose(told);
}

// SQLite takes either, as it was built.
#define SLOW(name)                                                     \
    int name(int file) {                                               \
        int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #name);      \
        wait_for_disk();                                               \
        return real(file);                                             \
    }

SLOW(fsync)
SLOW(fdatasync)
