/* What the runtime of the variant record-order writes beside each log, for tests: every access in the order
 * that really happened, with its value. NAME.order is a sequence of these; the first with tsc 0 ends it. */
#ifndef HEDDLE_ABI_ORDER_H
#define HEDDLE_ABI_ORDER_H

#include <stdint.h>

struct heddle_order_entry {
  uint64_t tsc; /* greater than that of every access before it in the process */
  uint32_t site;
  uint8_t kind; /* enum heddle_event_kind: read, write, update, fence, call */
  uint8_t lost; /* 1: others may have come between the access and what was noted of it */
  uint16_t unused;
  uint64_t address, size;
  uint64_t value; /* the first 8 bytes; update: before */
  uint64_t after; /* update */
};

#endif
