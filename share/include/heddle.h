/* For test programs: what a harness can ask of heddle. Everything here does nothing in a program that does not run under heddle's control
 * (run, hunt, check, replay), so the test remains an ordinary program. `heddle cc` finds this file by itself; other compilers need
 * -I PREFIX/share/heddle/include. C and C++; nothing is to be linked.
 *
 *   HEDDLE_ASSUME(c)        where c does not hold, this run is of no interest: it ends here, and did not fail
 *   HEDDLE_ATOMIC_BEGIN();  from here ...
 *   HEDDLE_ATOMIC_END();    ... to here no other thread runs, unless this one has to wait. Such parts may be nested
 *   heddle_choose(n)        a number from 0 to n - 1: `check` tries all, `hunt` and `run` any. 0 outside heddle
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of heddle's runtime; null outside. */
__attribute__((weak)) unsigned heddle_harness_choose(unsigned count);
__attribute__((weak, noreturn)) void heddle_harness_refuse(void);
__attribute__((weak)) void heddle_harness_atomic_begin(void);
__attribute__((weak)) void heddle_harness_atomic_end(void);

#ifdef __cplusplus
}
#endif

static inline __attribute__((unused)) unsigned heddle_choose(unsigned n) {
  return heddle_harness_choose ? heddle_harness_choose(n) : 0;
}

#define HEDDLE_ASSUME(c)                                          \
  do {                                                            \
    if (heddle_harness_refuse && !(c)) heddle_harness_refuse();   \
  } while (0)
#define HEDDLE_ATOMIC_BEGIN()                                     \
  do {                                                            \
    if (heddle_harness_atomic_begin) heddle_harness_atomic_begin(); \
  } while (0)
#define HEDDLE_ATOMIC_END()                                       \
  do {                                                            \
    if (heddle_harness_atomic_end) heddle_harness_atomic_end();   \
  } while (0)

#endif
