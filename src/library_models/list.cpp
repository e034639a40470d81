// Model of std::list's links: nodes in a ring that the list's head closes.
#include <list>

namespace std::__detail {

void _List_node_base::_M_hook(_List_node_base* const position) noexcept {
  _M_next = position;
  _M_prev = position->_M_prev;
  position->_M_prev->_M_next = this;
  position->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
  _M_prev->_M_next = _M_next;
  _M_next->_M_prev = _M_prev;
}

// Moves the nodes from `first` up to `last`, which stays, in front of this one.
void _List_node_base::_M_transfer(_List_node_base* const first, _List_node_base* const last) noexcept {
  if (this == last) return;
  _List_node_base* const before_first = first->_M_prev;
  _List_node_base* const last_moved = last->_M_prev;
  _List_node_base* const before_here = _M_prev;
  before_first->_M_next = last;
  last->_M_prev = before_first;
  before_here->_M_next = first;
  first->_M_prev = before_here;
  last_moved->_M_next = this;
  _M_prev = last_moved;
}

void _List_node_base::_M_reverse() noexcept {
  _List_node_base* node = this;
  do {
    _List_node_base* const next = node->_M_next;
    node->_M_next = node->_M_prev;
    node->_M_prev = next;
    node = next;
  } while (node != this);
}

// Of two heads: each gets the other's nodes. A head without nodes points to itself.
void _List_node_base::swap(_List_node_base& a, _List_node_base& b) noexcept {
  const bool a_empty = a._M_next == &a, b_empty = b._M_next == &b;
  const _List_node_base old_a = a, old_b = b;
  const auto take = [](_List_node_base& head, const _List_node_base& from, bool empty) {
    head._M_next = empty ? &head : from._M_next;
    head._M_prev = empty ? &head : from._M_prev;
    head._M_next->_M_prev = head._M_prev->_M_next = &head;
  };
  take(a, old_b, b_empty);
  take(b, old_a, a_empty);
}

}  // namespace std::__detail
