// Of SmtEncoding: the bound on preemptions (CLAP section 4.2), counted exactly: an event behind which another
// thread goes on although this one could have.
#include "solve/smt_encoding.h"

namespace heddle {

SmtTerm SmtEncoding::is_preempted(EventRef ref) {
  const Moment &here = moment(ref), &next = moment({ref.thread, ref.event + 1});
  if (events(ref.thread)[ref.event].step == events(ref.thread)[ref.event + 1].step) return solver_.truth(false);
  std::vector<SmtTerm> others;
  for (uint32_t t = 0; t < threads(); ++t)
    for (const Moment& other : moments_[t])
      if (t != ref.thread)
        others.push_back(solver_.all({other.done, is_before(here, other),
                                      solver_.any({solver_.no(next.done), is_before(other, next)})}));
  return solver_.all(
      {here.done, solver_.any(others),
       is_enabled(ref.thread, events(ref.thread)[ref.event + 1], ref.event + 1, {Point::Kind::behind, ref})});
}

bool SmtEncoding::encode_preemptions() {
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e + 1 < events(t).size(); ++e) {
      if (should_end_()) return false;
      preemptions_.push_back(is_preempted({t, e}));
    }
  return true;
}

SmtTerm SmtEncoding::at_most_preemptions(unsigned count) {
  return solver_.at_most(preemptions_, count);
}

}  // namespace heddle
