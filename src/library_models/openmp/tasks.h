// Model of OpenMP's tasks (openmp.cpp). A team has one queue. Who waits for tasks executes some meanwhile: at a
// barrier any, elsewhere only descendants of the own one, as is asked for tied tasks.
#pragma once

#include <cstdlib>
#include <cstring>

#include "library_models/openmp/shared.h"

namespace {

// What a task that is not finished depends on.
struct Dependence {
  Dependence* next;
  Task* task;
  uint64_t address;
  bool changes;
};

// What the program sees of a task: a part of its own follows, then what it shares with its parent.
struct Body {
  void* shared;
  int (*entry)(int, void*);
  int part;
  int (*destroy)(int, void*);
  void* more;
};
enum Flag { kFinal = 2, kDestroys = 8 };

// What the program hands over of a dependence (kmp_depend_info).
struct Given {
  uint64_t address;
  uint64_t length;
  uint8_t flags;  // 1: in, 2: out, others: as out
};

static_assert(sizeof(Task) % 8 == 0);
constexpr uint64_t kHead = (sizeof(Task) + 15) / 16 * 16;

Body* body_of(Task* task) {
  return reinterpret_cast<Body*>(reinterpret_cast<char*>(task) + kHead);
}
Task* task_of_body(void* body) {
  return reinterpret_cast<Task*>(static_cast<char*>(body) - kHead);
}

void forget_dependences(Task* task) {
  for (Dependence** at = &task->parent->dependences; *at != nullptr;) {
    Dependence* const one = *at;
    if (one->task != task) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    free(one);
  }
}

// With the lock. A task stays as long as a child needs it.
void let_go(Task* task) {
  if (task->over && task->children == 0) free(task);
}

void finish(Team& team, Task* task) {
  Task* const parent = task->parent;
  forget_dependences(task);
  if (task->group != nullptr) --task->group->unfinished;
  --parent->children;
  --team.unfinished;
  task->over = true;
  let_go(task);
  if (parent->over) let_go(parent);
  pthread_cond_broadcast(&team.changed);
}

void perform(Task* task) {
  Place& here = place();
  Task* const before = here.task;
  here.task = task;
  Body* const body = body_of(task);
  body->entry(here.number, body);
  if ((task->flags & kDestroys) != 0) body->destroy(here.number, body);
  here.task = before;
}

bool is_below(const Task* task, const Task* top) {
  while (task != nullptr && task != top) task = task->parent;
  return task == top;
}

// With the lock. Null: none of those that may be executed here.
Task* take(Team& team, const Task* top) {
  Task* before = nullptr;
  for (Task* task = team.first; task != nullptr; before = task, task = task->next) {
    if (top != nullptr && !is_below(task, top)) continue;
    (before != nullptr ? before->next : team.first) = task->next;
    if (team.last == task) team.last = before;
    return task;
  }
  return nullptr;
}

void run_until(bool (*over)(void*), void* what, bool any) {
  Place& here = place();
  Team& team = *here.team;
  while (!over(what)) {
    Task* const task = take(team, any ? nullptr : here.task);
    if (task == nullptr) {
      wait_for_change(team);
      continue;
    }
    unlock();
    perform(task);
    lock();
    finish(team, task);
  }
}

// A child of the present task.
void begin(Task* task) {
  Place& here = place();
  Task& parent = *here.task;
  task->parent = &parent;
  task->group = parent.group;
  if ((parent.flags & kFinal) != 0) task->flags |= kFinal;
  lock();
  ++parent.children;
  ++here.team->unfinished;
  if (task->group != nullptr) ++task->group->unfinished;
  unlock();
}

void perform_at_once(Task* task) {
  Team& team = *place().team;
  perform(task);
  lock();
  finish(team, task);
  unlock();
}

void give(Task* task) {
  Team& team = *place().team;
  if (team.count == 1 || (task->flags & kFinal) != 0) return perform_at_once(task);
  lock();
  task->next = nullptr;
  (team.last != nullptr ? team.last->next : team.first) = task;
  team.last = task;
  pthread_cond_broadcast(&team.changed);
  unlock();
}

bool no_children(void* task) {
  return static_cast<Task*>(task)->children == 0;
}
bool group_over(void* group) {
  return static_cast<Group*>(group)->unfinished == 0;
}

// ---- dependences
struct Wanted {
  const Given* given;
  int count;
  const Given* more;
  int more_count;
  const Given& operator[](int i) const { return i < count ? given[i] : more[i - count]; }
  int size() const { return count + more_count; }
};
bool changes(const Given& one) {
  return one.flags != 1;
}

bool nothing_before(void* argument) {
  const Wanted& wanted = *static_cast<Wanted*>(argument);
  for (const Dependence* one = place().task->dependences; one != nullptr; one = one->next)
    for (int i = 0; i < wanted.size(); ++i)
      if (one->address == wanted[i].address && (one->changes || changes(wanted[i]))) return false;
  return true;
}

// With the lock.
void depend(Task* task, const Wanted& wanted) {
  for (int i = 0; i < wanted.size(); ++i) {
    Dependence* const one = static_cast<Dependence*>(malloc(sizeof(Dependence)));
    if (one == nullptr) abort();
    *one = {task->parent->dependences, task, wanted[i].address, changes(wanted[i])};
    task->parent->dependences = one;
  }
}

Task* copy_of(Task* task) {
  Task* const copy = static_cast<Task*>(malloc(kHead + task->size));
  if (copy == nullptr) abort();
  memcpy(copy, task, kHead + task->size);
  if (body_of(task)->shared != nullptr)
    body_of(copy)->shared =
        reinterpret_cast<char*>(body_of(copy)) +
        (static_cast<char*>(body_of(task)->shared) - reinterpret_cast<char*>(body_of(task)));
  return copy;
}

}  // namespace

extern "C" {

void* __kmpc_omp_task_alloc(void*, int, int flags, size_t size, size_t shared, int (*entry)(int, void*)) {
  const uint64_t own = (size + 7) / 8 * 8;
  Task* const task = static_cast<Task*>(malloc(kHead + own + shared));
  if (task == nullptr) abort();
  *task = Task{};
  task->flags = flags;
  task->size = own + shared;
  Body* const body = body_of(task);
  body->shared = shared != 0 ? reinterpret_cast<char*>(body) + own : nullptr;
  body->entry = entry;
  body->part = 0;
  return body;
}

int __kmpc_omp_task(void*, int, void* body) {
  Task* const task = task_of_body(body);
  begin(task);
  give(task);
  return 0;
}

int __kmpc_omp_task_with_deps(void*, int, void* body, int count, void* list, int more, void* more_list) {
  Task* const task = task_of_body(body);
  Wanted wanted = {static_cast<Given*>(list), count, static_cast<Given*>(more_list), more};
  lock();
  run_until(nothing_before, &wanted, false);
  unlock();
  begin(task);
  lock();
  depend(task, wanted);
  unlock();
  give(task);
  return 0;
}

void __kmpc_omp_wait_deps(void*, int, int count, void* list, int more, void* more_list) {
  Wanted wanted = {static_cast<Given*>(list), count, static_cast<Given*>(more_list), more};
  lock();
  run_until(nothing_before, &wanted, false);
  unlock();
}
void __kmpc_omp_taskwait_deps_51(void* at, int number, int count, void* list, int more, void* more_list, int) {
  __kmpc_omp_wait_deps(at, number, count, list, more, more_list);
}

// The program calls the task itself, between these.
void __kmpc_omp_task_begin_if0(void*, int, void* body) {
  Task* const task = task_of_body(body);
  begin(task);
  place().task = task;
}
void __kmpc_omp_task_complete_if0(void*, int, void* body) {
  Task* const task = task_of_body(body);
  Place& here = place();
  if ((task->flags & kDestroys) != 0) body_of(task)->destroy(here.number, body);
  here.task = task->parent;
  lock();
  finish(*here.team, task);
  unlock();
}

int __kmpc_omp_taskwait(void*, int) {
  Task& task = *place().task;
  lock();
  run_until(no_children, &task, false);
  unlock();
  return 0;
}
int __kmpc_omp_taskyield(void*, int, int) {
  return 0;
}

void __kmpc_taskgroup(void*, int) {
  Task& task = *place().task;
  Group* const group = static_cast<Group*>(calloc(1, sizeof(Group)));
  if (group == nullptr) abort();
  group->outer = task.group;
  task.group = group;
}
void __kmpc_end_taskgroup(void*, int) {
  Task& task = *place().task;
  Group* const group = task.group;
  lock();
  run_until(group_over, group, false);
  unlock();
  task.group = group->outer;
  free(group);
}

// A loop as tasks: `low` and `high` lie in the body of the task, which is copied for each piece.
void __kmpc_taskloop(void* at, int number, void* body, int condition, uint64_t* low, uint64_t* high,
                     int64_t step, int no_group, int schedule, uint64_t size, void* duplicate) {
  Task* const task = task_of_body(body);
  if (no_group == 0) __kmpc_taskgroup(at, number);
  const uint64_t first = *low, last = *high;
  const bool up = step > 0;
  const uint64_t trips = up ? (int64_t)last < (int64_t)first ? 0 : (last - first) / (uint64_t)step + 1
                         : (int64_t)first < (int64_t)last ? 0
                                                          : (first - last) / (0 - (uint64_t)step) + 1;
  uint64_t pieces = schedule == 1 && size != 0   ? trips / size
                    : schedule == 2 && size != 0 ? size
                                                 : 10 * (uint64_t)place().team->count;
  if (pieces == 0) pieces = 1;
  if (pieces > trips) pieces = trips;
  const uint64_t low_at = (uint64_t)((char*)low - (char*)body), high_at = (uint64_t)((char*)high - (char*)body);
  uint64_t done = 0;
  for (uint64_t i = 0; i < pieces; ++i) {
    const uint64_t count = trips / pieces + (i < trips % pieces);
    Task* const piece = copy_of(task);
    char* const to = reinterpret_cast<char*>(body_of(piece));
    *reinterpret_cast<uint64_t*>(to + low_at) = first + done * (uint64_t)step;
    *reinterpret_cast<uint64_t*>(to + high_at) = first + (done + count - 1) * (uint64_t)step;
    done += count;
    if (duplicate != nullptr)
      reinterpret_cast<void (*)(void*, void*, int)>(duplicate)(to, body, i + 1 == pieces);
    begin(piece);
    if (condition != 0)
      give(piece);
    else
      perform_at_once(piece);
  }
  if ((task->flags & kDestroys) != 0) body_of(task)->destroy(number, body);
  free(task);
  if (no_group == 0) __kmpc_end_taskgroup(at, number);
}

}  // extern "C"
