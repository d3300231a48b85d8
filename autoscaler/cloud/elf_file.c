/*
 * elf_file.c - see elf_file.h.
 *
 * Everything is read with pread() at places that the file itself names, so a
 * place outside of it is a short read and never a fault.
 */
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SEGMENTS = 256, MOST_DYNAMIC = 4096, MOST_SYMBOLS = 1 << 20 };

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OUR_MACHINE EM_S390
#else
#error "add this machine's ELF number"
#endif

static const char *machine_name(unsigned m)
{
    switch (m) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "arm64";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "s390";
    case EM_386: return "32-bit x86";
    case EM_ARM: return "32-bit ARM";
    default: return "another machine";
    }
}

/* All segments must lie in the file, or touching them raises SIGBUS. */
static enum status elf_whole(int fd, const char *path, const Elf64_Ehdr *h,
                             off_t size, struct err *err)
{
    bool whole = h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum > 0;
    for (unsigned i = 0; whole && i < h->e_phnum; i++) {
        Elf64_Phdr ph;
        uint64_t at = h->e_phoff + (uint64_t)i * sizeof ph;
        whole = at <= (uint64_t)size &&
                pread(fd, &ph, sizeof ph, (off_t)at) == (ssize_t)sizeof ph &&
                ph.p_offset <= (uint64_t)size &&
                ph.p_filesz <= (uint64_t)size - ph.p_offset;
    }
    if (!whole)
        return err_set(err, ST_INVALID,
                       "%s is cut short or damaged: install it again", path);
    return ST_OK;
}

enum status elf_check(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, ST_INVALID,
                       "%s is a directory; a plug-in is a .so file", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ST_INVALID,
                       "%s is not a regular file; a plug-in is a .so file",
                       path);
    Elf64_Ehdr h;
    ssize_t got = pread(fd, &h, sizeof h, 0);
    if (got < (ssize_t)SELFMAG || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ST_INVALID,
                       "%s is not a shared object (no ELF header): a plug-in "
                       "is compiled with cc -shared -fPIC",
                       path);
    if (got < (ssize_t)sizeof h)
        return err_set(err, ST_INVALID,
                       "%s is cut short or damaged: install it again", path);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != OUR_MACHINE)
        return err_set(err, ST_INVALID, "%s is built for %s, this is %s", path,
                       machine_name(h.e_machine), machine_name(OUR_MACHINE));
    if (h.e_type != ET_DYN)
        return err_set(err, ST_INVALID,
                       "%s is ELF but not a shared object: a plug-in is linked "
                       "with cc -shared",
                       path);
    return elf_whole(fd, path, &h, st.st_size, err);
}

/* ---- its dynamic symbols */

struct symbols {
    int fd;
    Elf64_Phdr loads[MOST_SEGMENTS];
    uint32_t n_loads;
    uint64_t table, names, names_size, hash, gnu_hash; /* addresses; 0: none */
};

static bool take(const struct symbols *s, uint64_t at, void *ret, size_t n)
{
    return at <= INT64_MAX && pread(s->fd, ret, n, (off_t)at) == (ssize_t)n;
}

/* The bytes that will lie at an address. */
static bool take_at(const struct symbols *s, uint64_t address, void *ret,
                    size_t n)
{
    for (uint32_t i = 0; i < s->n_loads; i++) {
        const Elf64_Phdr *p = &s->loads[i];
        uint64_t in = address - p->p_vaddr;

        if (address >= p->p_vaddr && in <= p->p_filesz && n <= p->p_filesz - in)
            return take(s, p->p_offset + in, ret, n);
    }
    return false;
}

static void dynamic_read(struct symbols *s, const Elf64_Phdr *p)
{
    Elf64_Dyn d;

    for (uint64_t i = 0; i < MOST_DYNAMIC && (i + 1) * sizeof d <= p->p_filesz;
         i++) {
        if (!take(s, p->p_offset + i * sizeof d, &d, sizeof d) ||
            d.d_tag == DT_NULL)
            return;
        switch (d.d_tag) {
        case DT_SYMTAB: s->table = d.d_un.d_ptr; break;
        case DT_STRTAB: s->names = d.d_un.d_ptr; break;
        case DT_STRSZ: s->names_size = d.d_un.d_val; break;
        case DT_HASH: s->hash = d.d_un.d_ptr; break;
        case DT_GNU_HASH: s->gnu_hash = d.d_un.d_ptr; break;
        default: break;
        }
    }
}

static bool symbols_read(struct symbols *s)
{
    Elf64_Phdr dynamic = {0}, p;
    Elf64_Ehdr h;

    if (!take(s, 0, &h, sizeof h) || h.e_phentsize != sizeof p)
        return false;
    for (uint64_t i = 0; i < h.e_phnum; i++) {
        if (!take(s, h.e_phoff + i * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_DYNAMIC)
            dynamic = p;
        else if (p.p_type == PT_LOAD && s->n_loads < MOST_SEGMENTS)
            s->loads[s->n_loads++] = p;
    }
    dynamic_read(s, &dynamic);
    return s->table && s->names && (s->hash || s->gnu_hash);
}

/* Is the symbol of this number defined here, and so called? */
static bool symbol_is(const struct symbols *s, uint64_t number,
                      const char *name)
{
    size_t n = strlen(name) + 1;
    Elf64_Sym sym;
    char text[64];

    return n <= sizeof text &&
           take_at(s, s->table + number * sizeof sym, &sym, sizeof sym) &&
           sym.st_shndx != SHN_UNDEF && sym.st_name < s->names_size &&
           take_at(s, s->names + sym.st_name, text, n) &&
           memcmp(text, name, n) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static bool gnu_find(const struct symbols *s, const char *name)
{
    struct {
        uint32_t n_buckets, first, n_bloom, shift;
    } head;
    uint32_t hash = gnu_hash_of(name), i, link;
    uint64_t buckets, chain;

    if (!take_at(s, s->gnu_hash, &head, sizeof head) || !head.n_buckets)
        return false;
    buckets = s->gnu_hash + sizeof head + (uint64_t)head.n_bloom * 8;
    chain = buckets + (uint64_t)head.n_buckets * 4;
    if (!take_at(s, buckets + (uint64_t)(hash % head.n_buckets) * 4, &i, 4) ||
        i < head.first)
        return false;
    for (uint32_t steps = 0; steps < MOST_SYMBOLS; steps++, i++) {
        if (!take_at(s, chain + (uint64_t)(i - head.first) * 4, &link, 4))
            return false;
        if ((link | 1) == (hash | 1) && symbol_is(s, i, name))
            return true;
        if (link & 1)
            return false;
    }
    return false;
}

/* The old table says only how many there are of use to us. */
static bool plain_find(const struct symbols *s, const char *name)
{
    uint32_t head[2];

    if (!take_at(s, s->hash, head, sizeof head))
        return false;
    for (uint32_t i = 0; i < head[1] && i < MOST_SYMBOLS; i++)
        if (symbol_is(s, i, name))
            return true;
    return false;
}

bool elf_exports(int fd, const char *symbol)
{
    struct symbols s = {.fd = fd};

    if (!symbols_read(&s))
        return false;
    return s.gnu_hash ? gnu_find(&s, symbol) : plain_find(&s, symbol);
}
