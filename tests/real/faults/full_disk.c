/* A disk that becomes full: preloaded, it fails calls of the kernel that need space below a folder.
 *
 * full_disk_arm(n, lasting) makes the n-th such call from now on fail with ENOSPC, and with
 * `lasting` every later one too. full_disk_calls() returns how many there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls, deadly;
static int lasting;

void full_disk_arm(long n, int stays) {
    calls = 0;
    deadly = n;
    lasting = stays;
}

long full_disk_calls(void) { return calls; }

static int below(const char *path) {
    const char *folder = getenv("NIGHTSHIFT_FULL_DISK");
    char whole[PATH_MAX];
    if (folder == NULL) return 0;
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (getcwd(here, sizeof here) == NULL) return 0;
        snprintf(whole, sizeof whole, "%s/%s", here, path);
        path = whole;
    }
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int full(void) {
    calls++;
    if (deadly == 0 || (lasting ? calls < deadly : calls != deadly)) return 0;
    errno = ENOSPC;
    return 1;
}

static int full_at(const char *path) { return below(path) && full(); }

static int full_of(int fd) {
    char link[64], path[PATH_MAX];
    ssize_t length;
    int kept = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    errno = kept;
    if (length < 0) return 0;
    path[length] = 0;
    return full_at(path);
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    return full_of(fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return full_of(fd) ? -1
                       : REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return full_of(fd)
               ? -1
               : REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, data, size, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    return full_of(fd) ? -1
                       : REAL(ssize_t, writev, int, const struct iovec *, int)(fd, parts, count);
}

static int creates(const char *path, int flags) {
    int kept = errno, missing = (flags & O_CREAT) && access(path, F_OK) != 0;
    errno = kept;
    return missing;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (creates(path, flags) && full_at(path)) return -1;
    return REAL(int, open, const char *, int, ...)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (creates(path, flags) && full_at(path)) return -1;
    return REAL(int, open64, const char *, int, ...)(path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    if (access(path, F_OK) != 0 && full_at(path)) return -1;
    return REAL(int, mkdir, const char *, mode_t)(path, mode);
}

int rename(const char *from, const char *to) {
    return full_at(to) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}
