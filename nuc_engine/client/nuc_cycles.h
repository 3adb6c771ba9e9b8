/* Every cycle of a leg for a C or C++ program: nuc_engine/daemon/cyclering.py says what stands where.
 *
 *     struct nuc_cycles cycles;
 *     if (nuc_cycles_open(&cycles, "/run/nuc/lin_roach/cycles")) return 1;
 *     int angle = nuc_cycles_column(&cycles, "CTr_angle");
 *     while (...) {
 *         while (nuc_cycles_read(&cycles) == NUC_CYCLES_RECORD)
 *             printf("%f\n", nuc_cycles_f8(&cycles, angle));
 *         usleep(2000);
 *     }
 *     nuc_cycles_close(&cycles);
 *
 * The file is mapped read-only and the daemon waits for nobody: records that were not read in time are counted in
 * `overruns`. Needs a little-endian machine and the __atomic built-ins of gcc or clang.
 */
#ifndef NUC_CYCLES_H
#define NUC_CYCLES_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum nuc_cycles_result {
    NUC_CYCLES_NONE,    /* nothing new */
    NUC_CYCLES_RECORD,  /* `record` holds the next one */
    NUC_CYCLES_CHANGED  /* the columns are others now: close and open again */
};

struct nuc_cycles {
    const uint8_t *memory;
    size_t bytes;
    uint32_t slots_at, slot_bytes, slots, columns, text_bytes;
    const char *text;   /* JSON: configuration and columns; not ended by a 0 */
    uint64_t layout, next, overruns;
    uint64_t *record;   /* one word per column */
    uint32_t table[256];
};

static inline uint64_t nuc_cycles_word(const struct nuc_cycles *cycles, size_t at) {
    return __atomic_load_n((const uint64_t *)(const void *)(cycles->memory + at), __ATOMIC_ACQUIRE);
}

static inline uint32_t nuc_cycles_crc(const struct nuc_cycles *cycles, uint32_t crc, const void *data, size_t size) {
    const uint8_t *byte = (const uint8_t *)data;
    crc = ~crc;
    while (size--) crc = cycles->table[(crc ^ *byte++) & 0xff] ^ (crc >> 8);
    return ~crc;
}

static inline void nuc_cycles_close(struct nuc_cycles *cycles) {
    if (cycles->memory) munmap((void *)(uintptr_t)cycles->memory, cycles->bytes);
    free(cycles->record);
    memset(cycles, 0, sizeof *cycles);
}

/* Return 0, or -1 when there is no such file, or nothing is written in it yet. Reading begins with what comes next. */
static inline int nuc_cycles_open(struct nuc_cycles *cycles, const char *path) {
    struct stat found;
    void *memory = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    memset(cycles, 0, sizeof *cycles);
    if (fd < 0) return -1;
    if (!fstat(fd, &found) && found.st_size >= 65536)
        memory = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) return -1;
    cycles->memory = (const uint8_t *)memory;
    cycles->bytes = (size_t)found.st_size;
    for (uint32_t k = 0; k < 256; k++) {
        uint32_t crc = k;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        cycles->table[k] = crc;
    }
    uint32_t version;
    cycles->layout = nuc_cycles_word(cycles, 32);
    memcpy(&version, cycles->memory + 8, 4);
    memcpy(&cycles->slots_at, cycles->memory + 12, 4);
    memcpy(&cycles->slot_bytes, cycles->memory + 16, 4);
    memcpy(&cycles->slots, cycles->memory + 20, 4);
    memcpy(&cycles->text_bytes, cycles->memory + 40, 4);
    cycles->text = (const char *)cycles->memory + 64;
    cycles->next = nuc_cycles_word(cycles, 24);
    if (memcmp(cycles->memory, "NUCCYCLE", 8) || version != 1 || cycles->layout % 2 || cycles->slot_bytes < 16 ||
        cycles->slots == 0 || cycles->slots_at + (uint64_t)cycles->slots * cycles->slot_bytes > cycles->bytes ||
        64 + (uint64_t)cycles->text_bytes > cycles->slots_at || nuc_cycles_word(cycles, 32) != cycles->layout) {
        nuc_cycles_close(cycles);
        return -1;
    }
    cycles->columns = (cycles->slot_bytes - 16) / 8;
    cycles->record = (uint64_t *)malloc(cycles->slot_bytes);
    return cycles->record ? 0 : -1;
}

/* Return the number of a column, -1 when there is none of this name. */
static inline int nuc_cycles_column(const struct nuc_cycles *cycles, const char *name) {
    static const char key[] = "\"name\": \"";
    const char *at = cycles->text, *end = cycles->text + cycles->text_bytes;
    size_t length = strlen(name);
    for (int column = 0; at + sizeof key - 1 + length < end; at++) {
        if (memcmp(at, key, sizeof key - 1)) continue;
        at += sizeof key - 1;
        if (at + length < end && !memcmp(at, name, length) && at[length] == '"') return column;
        column++;
    }
    return -1;
}

/* Take the next record there is. */
static inline enum nuc_cycles_result nuc_cycles_read(struct nuc_cycles *cycles) {
    for (;;) {
        if (nuc_cycles_word(cycles, 32) != cycles->layout) return NUC_CYCLES_CHANGED;
        uint64_t written = nuc_cycles_word(cycles, 24);
        if (cycles->next >= written) return NUC_CYCLES_NONE;
        if (written - cycles->next <= cycles->slots) {
            size_t at = cycles->slots_at + (size_t)(cycles->next % cycles->slots) * cycles->slot_bytes;
            uint64_t mark = nuc_cycles_word(cycles, at), crc = nuc_cycles_word(cycles, at + 8);
            memcpy(cycles->record, cycles->memory + at + 16, cycles->slot_bytes - 16);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            uint64_t again = nuc_cycles_word(cycles, at);
            uint32_t own = nuc_cycles_crc(cycles, nuc_cycles_crc(cycles, 0, &mark, 8), cycles->record,
                                          cycles->slot_bytes - 16);
            if (mark == cycles->next + 1 && again == mark && own == (uint32_t)crc) {
                cycles->next++;
                return NUC_CYCLES_RECORD;
            }
            if (nuc_cycles_word(cycles, 24) - cycles->next < cycles->slots) return NUC_CYCLES_NONE;
            written = nuc_cycles_word(cycles, 24);
        }
        cycles->overruns += written - cycles->slots / 2 - cycles->next;
        cycles->next = written - cycles->slots / 2;
    }
}

static inline double nuc_cycles_f8(const struct nuc_cycles *cycles, int column) {
    double value;
    memcpy(&value, cycles->record + column, 8);
    return value;
}

static inline int64_t nuc_cycles_i8(const struct nuc_cycles *cycles, int column) {
    int64_t value;
    memcpy(&value, cycles->record + column, 8);
    return value;
}

#endif
