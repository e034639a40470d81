/* The program model inside object files and executables (decision D1).
 *
 * Two non-allocated sections hold records, one behind the other; linkers concatenate them, so a finished binary
 * carries the records of exactly the objects that went into it:
 *
 *   .heddle.module   one record per translation unit: its LLVM module as code generation saw it
 *   .heddle.link     one record per link step through heddle cc: the command line and the foreign objects
 *
 *   record  = header, then `stored` bytes: a zstd frame with content checksum
 *   frame   = meta size (8 bytes, little endian), meta (JSON), body
 *   body    = bitcode (module) or the foreign objects' bytes (link)
 *
 * All numbers are little endian. A C header without includes but for the integer types: anything may use it.
 */
#ifndef HEDDLE_ABI_MODEL_SECTION_H
#define HEDDLE_ABI_MODEL_SECTION_H

#include <stdint.h>

/* Raised with every change of the layout or of the meaning of what is inside. */
#define HEDDLE_MODEL_FORMAT 1

#define HEDDLE_SECTION_MODULE ".heddle.module"
#define HEDDLE_SECTION_LINK ".heddle.link"

#define HEDDLE_RECORD_MAGIC "\x7fHeddle\n" /* 8 bytes, not a prefix of any ELF or bitcode file */

enum heddle_record_kind { HEDDLE_RECORD_module = 1, HEDDLE_RECORD_link = 2 };

struct heddle_record_header {
  char magic[8];
  uint32_t format;
  uint32_t kind;
  char tool[16];   /* heddle's version, padded with zero bytes: readable whatever the format */
  uint64_t stored; /* bytes that follow */
  uint64_t raw;    /* bytes in the frame */
};

#ifdef __cplusplus
static_assert(sizeof(struct heddle_record_header) == 48, "layout is stored in files");
#else
_Static_assert(sizeof(struct heddle_record_header) == 48, "layout is stored in files");
#endif

#endif
