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
_Noreturn void rt_stand_still(void);     /* answers, and waits to be killed */

#endif
