/* A layer between a program and its C library that makes file calls fail, or kills the process.
 *
 * Loaded with LD_PRELOAD, it sees every call of the process and of the libraries inside it (SQLite,
 * RocksDB, LanceDB, Chroma, Python) on files under the watched folders. It counts them, and does one
 * thing at the call with a given number: fail it with an errno, fail it and every later one, write
 * half of the data, or kill the process before or in the middle of it. It can also write a trace of
 * all calls that change files, from which states after a loss of power are made.
 *
 * Linux, glibc. Build: cc -shared -fPIC -O2 -o shim.so shim.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kinds of call, one letter each; `benchmarks/faults/injection.py` knows the same letters. */
#define K_OPEN 'o'   /* open for reading */
#define K_MAKE 'c'   /* open that may create or truncate */
#define K_READ 'r'
#define K_WRITE 'w'
#define K_SYNC 's'
#define K_NAME 'n'   /* rename, link, unlink, mkdir, rmdir, symlink */
#define K_META 't'   /* truncate, chmod, chown, allocate */
#define K_MAP 'm'

enum { OFF, COUNT, FAIL, FAIL_ON, KILL, TEAR, SHORT };

#define MOST_ROOTS 8
#define MOST_FDS 65536
#define MOST_CALLS (1 << 20)

static char roots[MOST_ROOTS][PATH_MAX];
static size_t root_lengths[MOST_ROOTS];
static int root_count;
static int mode = OFF;
static long target;
static int failure;
static char applies[32]; /* kinds a failure that goes on applies to */
static atomic_long calls;
static char kinds[MOST_CALLS];
static unsigned char watched[MOST_FDS];
static int trace = -1;
static atomic_flag trace_lock = ATOMIC_FLAG_INIT;

#define REAL(name) ((__typeof__(&name))real(#name, &real_##name))
static void *real(const char *name, void **slot) {
    if (!*slot) *slot = dlsym(RTLD_NEXT, name);
    return *slot;
}
#define SLOT(name) static void *real_##name

/* ---------------------------------------------------------------- control, called through ctypes */

void faults_watch(const char *folder) {
    if (root_count < MOST_ROOTS && strlen(folder) < PATH_MAX) {
        strcpy(roots[root_count], folder);
        root_lengths[root_count++] = strlen(folder);
    }
}

void faults_arm(int how, long at, int error, const char *only) {
    atomic_store(&calls, 0);
    target = at;
    failure = error;
    snprintf(applies, sizeof applies, "%s", only ? only : "");
    mode = how;
}

long faults_calls(void) { return atomic_load(&calls); }

const char *faults_kinds(void) { return kinds; }

void faults_trace(int descriptor) { trace = descriptor; }

void faults_off(void) { mode = OFF; trace = -1; }

/* ---------------------------------------------------------------- what is watched */

static int under(const char *path) {
    if (!path) return 0;
    for (int i = 0; i < root_count; i++)
        if (!strncmp(path, roots[i], root_lengths[i]) &&
            (path[root_lengths[i]] == '/' || path[root_lengths[i]] == 0))
            return 1;
    return 0;
}

/* The absolute path of a name as a system call is given it. */
static const char *whole(int folder, const char *path, char *room) {
    if (!path) return NULL;
    if (path[0] == '/') return path;
    char link[64], base[PATH_MAX];
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return NULL;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(link, base, sizeof base - 1);
        if (n < 0) return NULL;
        base[n] = 0;
    }
    if (snprintf(room, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
    return room;
}

static int is_watched(int fd) { return fd >= 0 && fd < MOST_FDS && watched[fd]; }

/* ---------------------------------------------------------------- the trace
 *
 * A record is: operation (1 byte), file number (8), offset (8), length (8), length of the second
 * part (8), first part, second part. Numbers are little endian as the machine has them.
 */
static void record(char op, uint64_t file, uint64_t offset, const void *one, uint64_t n_one,
                   const void *two, uint64_t n_two) {
    if (trace < 0) return;
    char head[33];
    head[0] = op;
    memcpy(head + 1, &file, 8);
    memcpy(head + 9, &offset, 8);
    memcpy(head + 17, &n_one, 8);
    memcpy(head + 25, &n_two, 8);
    struct iovec parts[3] = {{head, 33}, {(void *)one, n_one}, {(void *)two, n_two}};
    while (atomic_flag_test_and_set(&trace_lock)) {}
    syscall(SYS_writev, trace, parts, 3);
    atomic_flag_clear(&trace_lock);
}

static uint64_t number_of(int fd) {
    struct stat st;
    return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}

static void record_paths(char op, uint64_t file, const char *a, const char *b) {
    record(op, file, 0, a, strlen(a), b, b ? strlen(b) : 0);
}

/* ---------------------------------------------------------------- what happens at a call */

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

enum { GO, REFUSE, HALF, HALF_AND_DIE };

static int at_call(char kind) {
    if (mode == OFF) return GO;
    long now = atomic_fetch_add(&calls, 1);
    if (mode == COUNT) {
        if (now < MOST_CALLS - 1) kinds[now] = kind;
        return GO;
    }
    if (mode == FAIL_ON) {
        if (now < target || !strchr(applies, kind)) return GO;
        errno = failure;
        return REFUSE;
    }
    if (now != target) return GO;
    switch (mode) {
    case FAIL:
        errno = failure;
        return REFUSE;
    case KILL:
        die();
        return GO;
    case TEAR:
        return HALF_AND_DIE;
    default:
        return HALF;
    }
}

/* ---------------------------------------------------------------- open and close */

SLOT(close);

static int opened(int folder, const char *path, int flags, mode_t bits) {
    char room[PATH_MAX];
    const char *full = mode == OFF ? NULL : whole(folder, path, room);
    int mine = full && under(full);
    int makes = flags & (O_CREAT | O_TRUNC);
    int was_there = 0;
    if (mine && makes) {
        struct stat st;
        was_there = !fstatat(folder, path, &st, 0);
    }
    if (mine && !(flags & O_PATH) && at_call(makes ? K_MAKE : K_OPEN) == REFUSE) return -1;
    int fd = (int)syscall(SYS_openat, folder, path, flags | O_LARGEFILE, bits);
    if (fd >= 0 && fd < MOST_FDS) watched[fd] = (unsigned char)mine;
    if (fd >= 0 && mine && makes) {
        if (!was_there) record_paths('C', number_of(fd), full, NULL);
        else if (flags & O_TRUNC) record('T', number_of(fd), 0, NULL, 0, NULL, 0);
    }
    return fd;
}

#define BITS(flags)                                          \
    mode_t bits = 0;                                         \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                 \
        va_list more;                                        \
        va_start(more, flags);                               \
        bits = va_arg(more, mode_t);                         \
        va_end(more);                                        \
    }

int open(const char *path, int flags, ...) { BITS(flags) return opened(AT_FDCWD, path, flags, bits); }
int open64(const char *path, int flags, ...) { BITS(flags) return opened(AT_FDCWD, path, flags, bits); }
int openat(int folder, const char *path, int flags, ...) { BITS(flags) return opened(folder, path, flags, bits); }
int openat64(int folder, const char *path, int flags, ...) { BITS(flags) return opened(folder, path, flags, bits); }
int creat(const char *path, mode_t bits) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, bits); }
int creat64(const char *path, mode_t bits) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, bits); }
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return opened(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return opened(folder, path, flags, 0); }

int close(int fd) {
    if (fd >= 0 && fd < MOST_FDS) watched[fd] = 0;
    return REAL(close)(fd);
}

SLOT(dup);
SLOT(dup2);
SLOT(fcntl);
int dup(int fd) {
    int other = REAL(dup)(fd);
    if (other >= 0 && other < MOST_FDS) watched[other] = (unsigned char)is_watched(fd);
    return other;
}
int dup2(int fd, int other) {
    int made = REAL(dup2)(fd, other);
    if (made >= 0 && made < MOST_FDS) watched[made] = (unsigned char)is_watched(fd);
    return made;
}
int fcntl(int fd, int what, ...) {
    va_list more;
    va_start(more, what);
    void *with = va_arg(more, void *);
    va_end(more);
    int made = REAL(fcntl)(fd, what, with);
    if ((what == F_DUPFD || what == F_DUPFD_CLOEXEC) && made >= 0 && made < MOST_FDS)
        watched[made] = (unsigned char)is_watched(fd);
    return made;
}
SLOT(fcntl64);
int fcntl64(int fd, int what, ...) {
    va_list more;
    va_start(more, what);
    void *with = va_arg(more, void *);
    va_end(more);
    int made = REAL(fcntl64)(fd, what, with);
    if ((what == F_DUPFD || what == F_DUPFD_CLOEXEC) && made >= 0 && made < MOST_FDS)
        watched[made] = (unsigned char)is_watched(fd);
    return made;
}

/* ---------------------------------------------------------------- reading */

SLOT(read);
SLOT(pread);
SLOT(pread64);
SLOT(readv);
SLOT(preadv);
SLOT(preadv64);
#define READING(fd) if (is_watched(fd) && at_call(K_READ) == REFUSE) return -1;
ssize_t read(int fd, void *to, size_t n) { READING(fd) return REAL(read)(fd, to, n); }
ssize_t pread(int fd, void *to, size_t n, off_t at) { READING(fd) return REAL(pread)(fd, to, n, at); }
ssize_t pread64(int fd, void *to, size_t n, off64_t at) { READING(fd) return REAL(pread64)(fd, to, n, at); }
ssize_t readv(int fd, const struct iovec *to, int n) { READING(fd) return REAL(readv)(fd, to, n); }
ssize_t preadv(int fd, const struct iovec *to, int n, off_t at) { READING(fd) return REAL(preadv)(fd, to, n, at); }
ssize_t preadv64(int fd, const struct iovec *to, int n, off64_t at) { READING(fd) return REAL(preadv64)(fd, to, n, at); }

/* ---------------------------------------------------------------- writing */

SLOT(write);
SLOT(pwrite64);
SLOT(writev);
SLOT(pwritev);
SLOT(pwritev64);

static uint64_t place_of(int fd) {
    if (fcntl(fd, F_GETFL) & O_APPEND) {
        struct stat st;
        return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
    }
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 ? 0 : (uint64_t)at;
}

/* Writes all, or what the fault leaves of it; `at` is -1 for the file's own position. */
static ssize_t written(int fd, const void *data, size_t n, off64_t at, int act) {
    size_t part = act == GO ? n : n / 2;
    uint64_t place = at >= 0 ? (uint64_t)at : (trace >= 0 ? place_of(fd) : 0);
    ssize_t done = at >= 0 ? REAL(pwrite64)(fd, data, part, at) : REAL(write)(fd, data, part);
    if (done > 0) record('W', number_of(fd), place, data, (uint64_t)done, NULL, 0);
    if (act == HALF_AND_DIE) die();
    return done;
}

static ssize_t write_at(int fd, const void *data, size_t n, off64_t at) {
    int act = GO;
    if (is_watched(fd)) {
        act = at_call(K_WRITE);
        if (act == REFUSE) return -1;
        return written(fd, data, n, at, act);
    }
    return at >= 0 ? REAL(pwrite64)(fd, data, n, at) : REAL(write)(fd, data, n);
}
ssize_t write(int fd, const void *data, size_t n) { return write_at(fd, data, n, -1); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return write_at(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { return write_at(fd, data, n, at); }

/* One part after the other: a caller must accept a short write anyway. */
static ssize_t write_parts(int fd, const struct iovec *from, int n, off64_t at) {
    ssize_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (!from[i].iov_len) continue;
        ssize_t done = write_at(fd, from[i].iov_base, from[i].iov_len, at < 0 ? -1 : at + sum);
        if (done < 0) return sum ? sum : -1;
        sum += done;
        if ((size_t)done < from[i].iov_len) break;
    }
    return sum;
}
ssize_t writev(int fd, const struct iovec *from, int n) {
    return is_watched(fd) ? write_parts(fd, from, n, -1) : REAL(writev)(fd, from, n);
}
ssize_t pwritev(int fd, const struct iovec *from, int n, off_t at) {
    return is_watched(fd) ? write_parts(fd, from, n, at) : REAL(pwritev)(fd, from, n, at);
}
ssize_t pwritev64(int fd, const struct iovec *from, int n, off64_t at) {
    return is_watched(fd) ? write_parts(fd, from, n, at) : REAL(pwritev64)(fd, from, n, at);
}

/* Copies inside the kernel: callers fall back to reading and writing where these are not there. */
SLOT(sendfile);
SLOT(sendfile64);
SLOT(copy_file_range);
ssize_t sendfile(int to, int from, off_t *at, size_t n) {
    if (is_watched(to)) { errno = ENOSYS; return -1; }
    return REAL(sendfile)(to, from, at, n);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t n) {
    if (is_watched(to)) { errno = ENOSYS; return -1; }
    return REAL(sendfile64)(to, from, at, n);
}
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t n, unsigned flags) {
    if (is_watched(to)) { errno = ENOSYS; return -1; }
    return REAL(copy_file_range)(from, a, to, b, n, flags);
}

/* ---------------------------------------------------------------- making durable */

SLOT(fsync);
SLOT(fdatasync);
SLOT(sync_file_range);
static int synced(int fd, int done) {
    if (!done && is_watched(fd)) {
        struct stat st;
        if (!fstat(fd, &st)) record(S_ISDIR(st.st_mode) ? 'D' : 'S', st.st_ino, 0, NULL, 0, NULL, 0);
    }
    return done;
}
int fsync(int fd) {
    if (is_watched(fd) && at_call(K_SYNC) == REFUSE) return -1;
    return synced(fd, REAL(fsync)(fd));
}
int fdatasync(int fd) {
    if (is_watched(fd) && at_call(K_SYNC) == REFUSE) return -1;
    return synced(fd, REAL(fdatasync)(fd));
}
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) { /* promises nothing */
    if (is_watched(fd) && at_call(K_SYNC) == REFUSE) return -1;
    return REAL(sync_file_range)(fd, at, n, flags);
}

/* ---------------------------------------------------------------- names */


static uint64_t number_at(const char *path) {
    struct stat st;
    return lstat(path, &st) ? 0 : (uint64_t)st.st_ino;
}

static int two_names(int a_in, const char *a, int b_in, const char *b, char op, int (*call)(void *), void *with) {
    char room_a[PATH_MAX], room_b[PATH_MAX];
    if (mode == OFF) return call(with);
    const char *from = whole(a_in, a, room_a), *to = whole(b_in, b, room_b);
    if (!under(from) && !under(to)) return call(with);
    if (at_call(K_NAME) == REFUSE) return -1;
    uint64_t file = from ? number_at(from) : 0;
    int done = call(with);
    if (!done && from && to) record_paths(op, file, from, to);
    return done;
}

struct names { int a_in; const char *a; int b_in; const char *b; int flags; };
static int do_rename(void *p) { struct names *n = p; return (int)syscall(SYS_renameat2, n->a_in, n->a, n->b_in, n->b, n->flags); }
static int do_link(void *p) { struct names *n = p; return (int)syscall(SYS_linkat, n->a_in, n->a, n->b_in, n->b, n->flags); }
static int do_symlink(void *p) { struct names *n = p; return (int)syscall(SYS_symlinkat, n->a, n->b_in, n->b); }

int rename(const char *a, const char *b) { struct names n = {AT_FDCWD, a, AT_FDCWD, b, 0}; return two_names(AT_FDCWD, a, AT_FDCWD, b, 'R', do_rename, &n); }
int renameat(int i, const char *a, int j, const char *b) { struct names n = {i, a, j, b, 0}; return two_names(i, a, j, b, 'R', do_rename, &n); }
int renameat2(int i, const char *a, int j, const char *b, unsigned f) { struct names n = {i, a, j, b, (int)f}; return two_names(i, a, j, b, 'R', do_rename, &n); }
int link(const char *a, const char *b) { struct names n = {AT_FDCWD, a, AT_FDCWD, b, 0}; return two_names(AT_FDCWD, a, AT_FDCWD, b, 'L', do_link, &n); }
int linkat(int i, const char *a, int j, const char *b, int f) { struct names n = {i, a, j, b, f}; return two_names(i, a, j, b, 'L', do_link, &n); }
int symlink(const char *a, const char *b) { struct names n = {AT_FDCWD, a, AT_FDCWD, b, 0}; return two_names(AT_FDCWD, b, AT_FDCWD, b, 'Y', do_symlink, &n); }
int symlinkat(const char *a, int j, const char *b) { struct names n = {AT_FDCWD, a, j, b, 0}; return two_names(j, b, j, b, 'Y', do_symlink, &n); }

static int one_name(int folder, const char *path, char op, int flags, mode_t bits) {
    char room[PATH_MAX];
    const char *full = mode == OFF ? NULL : whole(folder, path, room);
    int mine = full && under(full);
    uint64_t file = 0;
    if (mine) {
        if (at_call(K_NAME) == REFUSE) return -1;
        file = number_at(full);
    }
    int done = (int)(op == 'M' ? syscall(SYS_mkdirat, folder, path, bits) : syscall(SYS_unlinkat, folder, path, flags));
    if (!done && mine) record_paths(op == 'M' ? 'M' : (flags & AT_REMOVEDIR ? 'X' : 'U'), op == 'M' ? number_at(full) : file, full, NULL);
    return done;
}
int unlink(const char *path) { return one_name(AT_FDCWD, path, 'U', 0, 0); }
int unlinkat(int folder, const char *path, int flags) { return one_name(folder, path, 'U', flags, 0); }
int rmdir(const char *path) { return one_name(AT_FDCWD, path, 'U', AT_REMOVEDIR, 0); }
int mkdir(const char *path, mode_t bits) { return one_name(AT_FDCWD, path, 'M', 0, bits); }
int mkdirat(int folder, const char *path, mode_t bits) { return one_name(folder, path, 'M', 0, bits); }

/* ---------------------------------------------------------------- size, mode, mapping */

SLOT(ftruncate64);
SLOT(truncate64);
SLOT(fallocate);
SLOT(fallocate64);
SLOT(posix_fallocate);
SLOT(posix_fallocate64);
SLOT(fchmod);
SLOT(chmod);
SLOT(fchmodat);
SLOT(fchown);
SLOT(chown);

static int cut(int fd, off64_t n) {
    if (is_watched(fd) && at_call(K_META) == REFUSE) return -1;
    int done = REAL(ftruncate64)(fd, n);
    if (!done && is_watched(fd)) record('T', number_of(fd), (uint64_t)n, NULL, 0, NULL, 0);
    return done;
}
int ftruncate(int fd, off_t n) { return cut(fd, n); }
int ftruncate64(int fd, off64_t n) { return cut(fd, n); }
static int cut_path(const char *path, off64_t n) {
    char room[PATH_MAX];
    const char *full = mode == OFF ? NULL : whole(AT_FDCWD, path, room);
    int mine = full && under(full);
    if (mine && at_call(K_META) == REFUSE) return -1;
    int done = REAL(truncate64)(path, n);
    if (!done && mine) record('T', number_at(full), (uint64_t)n, NULL, 0, NULL, 0);
    return done;
}
int truncate(const char *path, off_t n) { return cut_path(path, n); }
int truncate64(const char *path, off64_t n) { return cut_path(path, n); }
int fallocate(int fd, int how, off_t at, off_t n) { if (is_watched(fd) && at_call(K_META) == REFUSE) return -1; return REAL(fallocate)(fd, how, at, n); }
int fallocate64(int fd, int how, off64_t at, off64_t n) { if (is_watched(fd) && at_call(K_META) == REFUSE) return -1; return REAL(fallocate64)(fd, how, at, n); }
int posix_fallocate(int fd, off_t at, off_t n) { if (is_watched(fd) && at_call(K_META) == REFUSE) return errno; return REAL(posix_fallocate)(fd, at, n); }
int posix_fallocate64(int fd, off64_t at, off64_t n) { if (is_watched(fd) && at_call(K_META) == REFUSE) return errno; return REAL(posix_fallocate64)(fd, at, n); }
int fchmod(int fd, mode_t bits) { if (is_watched(fd) && at_call(K_META) == REFUSE) return -1; return REAL(fchmod)(fd, bits); }
int fchown(int fd, uid_t u, gid_t g) { if (is_watched(fd) && at_call(K_META) == REFUSE) return -1; return REAL(fchown)(fd, u, g); }

static int mine_by_name(int folder, const char *path) {
    char room[PATH_MAX];
    return mode != OFF && under(whole(folder, path, room));
}
int chmod(const char *path, mode_t bits) { if (mine_by_name(AT_FDCWD, path) && at_call(K_META) == REFUSE) return -1; return REAL(chmod)(path, bits); }
int fchmodat(int folder, const char *path, mode_t bits, int flags) { if (mine_by_name(folder, path) && at_call(K_META) == REFUSE) return -1; return REAL(fchmodat)(folder, path, bits, flags); }
int chown(const char *path, uid_t u, gid_t g) { if (mine_by_name(AT_FDCWD, path) && at_call(K_META) == REFUSE) return -1; return REAL(chown)(path, u, g); }

void *mmap(void *where, size_t n, int protection, int flags, int fd, off_t at) {
    if (is_watched(fd) && at_call(K_MAP) == REFUSE) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, n, protection, flags, fd, at);
}
void *mmap64(void *where, size_t n, int protection, int flags, int fd, off64_t at) {
    if (is_watched(fd) && at_call(K_MAP) == REFUSE) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, n, protection, flags, fd, at);
}
