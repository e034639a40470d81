/* Records of frames on the stacks of a "follow" variant, for those who look at the memory of a stopped run: two words
 * that can be told from others, then the values of the frame (program/frame_values.h), one word each. A C header
 * without includes. */
#ifndef HEDDLE_ABI_FRAME_RECORD_H
#define HEDDLE_ABI_FRAME_RECORD_H

#define HEDDLE_FRAME_MAGIC 0x9e6c63d0876a9a47ull /* the second word is this ^ the function's id */
#define HEDDLE_FRAME_HEAD 2                      /* words before the values */
#define HEDDLE_FRAME_UNSET_BYTE 0x5a             /* of values that the frame has not computed yet */
#define HEDDLE_FRAME_UNSET 0x5a5a5a5a5a5a5a5aull
/* A variable that points to the record of the frame of main(). */
#define HEDDLE_FRAME_OF_MAIN "heddle_follow_main_frame"

#endif
