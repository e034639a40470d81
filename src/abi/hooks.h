/* Functions that instrumented code calls and runtimes define: the one place where passes and runtimes meet.
 * A pass looks a hook up by name, so each name stands here once, beside its signature for the runtime. */
#ifndef HEDDLE_ABI_HOOKS_H
#define HEDDLE_ABI_HOOKS_H

#include <stdint.h>

/* Variant "count": called first in every function of the program, with the function's id. */
#define HEDDLE_HOOK_COUNT_ENTER "heddle_count_enter"

#ifdef __cplusplus
extern "C" {
#endif

void heddle_count_enter(uint32_t function);

#ifdef __cplusplus
}
#endif

#endif
