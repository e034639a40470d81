/* Between server.c and those it starts and ends executions with. */
#ifndef HEDDLE_RUNTIME_SERVER_H
#define HEDDLE_RUNTIME_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#define RT_BLOCK_ADDRESS 0x3f0000000000ull /* where the control block is mapped: the same in every process */

void rt_register_exit(void);
int rt_run_main(int (*function)(int, char**, char**), int argc, char** argv, char** envp);
void rt_strategy_learn(uint64_t events); /* how long an execution that passed was */
bool rt_strategy_endless(void);          /* this one is much longer than all that passed */

/* Serving a request: by the process that was started, and by snapshots (prefix_snapshot.c). */
void rt_wait_while(uint32_t* word, uint32_t value); /* in shared memory; may return early */
void rt_begin_request(void);
void rt_clear_result(void);
/* `child`: the process that performs it; below 0: there is none, `error` says why. */
void rt_await_execution(long child, int error);
void rt_count_execution(void);
void rt_answer(void);

/* prefix_snapshot.c */
void rt_snapshots_begin_execution(void);
bool rt_snapshot_due(void);
/* Leaves a copy of the process that stands here. Returns false where the run goes on, and true each time that
 * the copy begins another one, with a plan and steps of its own. */
bool rt_leave_snapshot(uint64_t steps, uint64_t count);
uint64_t rt_processor_time(void); /* nanoseconds of this process */

_Noreturn void rt_stand_still(void); /* answers, and waits to be killed */

#endif
