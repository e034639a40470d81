// Histories of a thread that have the same future, as far as is known: the coarser equivalence with which a
// search of too many outcomes goes on.
//
// A node of a thread's tree (behaviour.h) stands for all that came in. What the thread does from there on often
// depends on little of it: a value was read, looked at, and is forgotten. Two nodes are *merged* if all that is
// known behind them is the same: the operation, for each input that was seen what is done then, and again
// merged nodes behind it. States that differ only by merged nodes are one to the search.
//
// Why nothing is missed: let a pass of the search, over merged states, learn nothing. Say that a run leads to
// something that it did not see: a failure, an input that is new to a node. Follow the run along the states of
// the search. Each state of the run has one that was visited, with the same memory, buffers and objects, and
// with threads at merged nodes: the first one is the same, and merged nodes do the same for the same input and
// lead to merged nodes. So the input that is new to the run's node was new to the visited one too, and was
// learned there. What the search chooses at a state (persistent_set.h) is the same for merged nodes as well: it
// follows from what is known behind them. What is kept: every failure, and every value that a read of each
// place can return, hence what a branch or an assertion can see. What is lost is the number of outcomes.
//
// Not merged: nodes of which nothing is known (an execution has to tell, for each); calls whose effect only a
// library understands, since the history of its object has the node itself.
//
// Value-centric reductions (Chatterjee et al., OOPSLA 2019) tell runs apart by the values that were read. Here they
// are told apart only by those that make a difference to what is to come.
#pragma once

#include <unordered_map>
#include <vector>

#include "explore/machine.h"

namespace heddle {

class MergedHistories {
 public:
  MergedHistories(const Behaviour& behaviour, const OperationalMachine& machine)
      : behaviour_(behaviour), machine_(machine) {}

  // As far as the threads' behaviour is known now.
  void find();
  // Something was learned of these nodes; they and what leads to them are merged anew. Those that they were
  // merged with are taken apart until the same was learned of them, or they are found again: otherwise it would
  // be learned of one of them in each pass.
  void learn(const std::vector<NodeId>& nodes);
  // The same for merged nodes, different for others; in every process that knows the same.
  const Hash128& of(NodeId node) const {
    return groups_[group_[node]].is_outdated ? behaviour_.node(node).history : groups_[group_[node]].name;
  }

 private:
  struct Group {
    Hash128 name;
    bool is_outdated = false;
  };

  uint32_t group_of(NodeId node);

  const Behaviour& behaviour_;
  const OperationalMachine& machine_;
  std::vector<uint32_t> group_;  // by node
  std::vector<Group> groups_;
  std::unordered_map<Hash128, uint32_t> numbers_;  // of groups
};

}  // namespace heddle
