/* Rounds of a counted loop that are too many to be written in place. */
#include "runtime/record/runtime.h"

static void put(uint64_t bits, unsigned count) {
  if (count == 0) return;
  if (*heddle_record_state.word >> (64 - count) != 0) heddle_record_next_word();
  volatile uint64_t* const word = heddle_record_state.word;
  *word = *word << count | bits;
}

/* In halves: a word takes 63 bits at most. */
static void put_wide(uint64_t bits, unsigned count) {
  const unsigned low = count / 2;
  put(bits >> low, count - low);
  put(bits & ((1ull << low) - 1), low);
}

HEDDLE_PRESERVE_ALL void heddle_record_rounds(uint64_t rounds, uint32_t exit, uint32_t exit_bits) {
  const uint64_t number = rounds + 1;
  const unsigned length = 64 - (unsigned)__builtin_clzll(number);
  put_wide(0, length - 1);
  put_wide(number, length);
  put(exit, exit_bits);
}
