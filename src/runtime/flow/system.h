/* What system calls bring from the kernel: which bytes each may write. */
#ifndef HEDDLE_RUNTIME_FLOW_SYSTEM_H
#define HEDDLE_RUNTIME_FLOW_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* A part of memory that a call may write: argument `argument`, so many bytes. */
enum rt_fl_amount {
  FL_NOTHING,
  FL_BYTES,   /* `n` */
  FL_RESULT,  /* the result times n */
  FL_COUNT,   /* the value of argument `other` times n */
  FL_BEHIND,  /* the 32-bit number behind argument `other`, after the call */
  FL_VECTOR,  /* an array of struct iovec, `other` its length: the result in all */
  FL_MESSAGE, /* a struct msghdr */
  FL_IOCTL,   /* as the request says */
};
struct rt_fl_part {
  uint8_t amount, argument, other;
  bool on_error; /* also when the call failed */
  uint16_t n;
};
#define FL_PARTS 5
const struct rt_fl_part* rt_fl_parts_of(long number); /* FL_PARTS of them, or null: nothing is written */
/* Calls that happen in a replay as they do when recording: about memory, threads and signals of the process. */
bool rt_fl_is_own_business(long number);
extern const uint16_t rt_fl_own_business[];
extern const unsigned rt_fl_own_business_count;
#endif
