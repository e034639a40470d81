/* Where threads went (variant "follow"): blocks and returns in the order in which all threads performed them,
 * with events between. And a place to stand still: whoever wants to look at the memory of a run at some point
 * of it stops it there.
 */
#include "runtime/control/control.h"
#include "runtime/control/server.h"

void rt_note_move(enum heddle_move_kind kind, uint32_t id) {
  if (RT_LIKELY(!rt.plan.keep_moves) || !rt.active) return;
  struct heddle_result* result = &rt.block->result;
  if (result->moves < rt.block->layout.moves_capacity) {
    struct heddle_move* moves = (struct heddle_move*)((char*)rt.block + rt.block->layout.moves);
    moves[result->moves] =
        (struct heddle_move){.id = id, .thread = (uint16_t)rt.current->index, .kind = (uint16_t)kind};
  }
  if (++result->moves == rt.plan.stop_at_move) rt_stand_still();
}

void heddle_control_move_block(uint32_t block) {
  rt_note_move(HEDDLE_MOVE_block, block);
}

void heddle_control_move_return(uint32_t function) {
  rt_note_move(HEDDLE_MOVE_return, function);
}
