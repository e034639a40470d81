/* What the variant "leap" and its runtime agree on: the baseline that CLAP was measured against.
 *
 * LEAP (Huang, Liu, Zhang: "LEAP: lightweight deterministic multi-processor replay of concurrent Java
 * programs", FSE 2010) keeps, for each shared location, the order in which threads accessed it: under a lock of
 * the location, which is held during the access, the thread's number is appended to the location's access
 * vector.
 *
 * The pass makes an array of locations in the program, all zero, and gives each access the address of its own.
 *
 * The file (HEDDLE_LEAP_FILE), written when the process ends: for each location with accesses its index (u32),
 * its bytes (u64), and the vector: one byte for each access, the thread's number; from 255 on the byte 255 and
 * the number (u32). Runs of one thread are not joined, as published. */
#ifndef HEDDLE_ABI_LEAP_H
#define HEDDLE_ABI_LEAP_H

#include <stdint.h>

#define HEDDLE_LEAP_FILE "HEDDLE_LEAP_FILE"

#define HEDDLE_LEAP_LOCATIONS "heddle_leap_locations"
#define HEDDLE_LEAP_LOCATION_COUNT "heddle_leap_location_count" /* uint32_t */
#define HEDDLE_LEAP_LOCATION_SIZE 128 /* two cache lines: locations do not disturb each other */
struct heddle_leap_location;

/* Around an access. One that touches two locations (memcpy) locks both, in the order of their indexes. */
#define HEDDLE_HOOK_LEAP_BEGIN "heddle_leap_begin"
#define HEDDLE_HOOK_LEAP_END "heddle_leap_end"

#ifdef __cplusplus
extern "C" {
#endif

void heddle_leap_begin(struct heddle_leap_location* location);
void heddle_leap_end(struct heddle_leap_location* location);

#ifdef __cplusplus
}
#endif

#endif
