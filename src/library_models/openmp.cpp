// Model of libomp, the OpenMP library of clang: its functions on those of pthread.h. One module, since all
// parts work on the same state.
#include "library_models/openmp/asked.h"
#include "library_models/openmp/loops.h"
#include "library_models/openmp/tasks.h"
#include "library_models/openmp/teams.h"
