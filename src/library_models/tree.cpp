// Model of the red-black trees under std::map, std::set, std::multimap and std::multiset: the functions of
// libstdc++ that are not templates. The rules are those of the textbook (Cormen, Leiserson, Rivest, Stein,
// "Introduction to Algorithms", chapter 13), on nodes laid out as <bits/stl_tree.h> has them.
//
// The header node is the end of the tree: its parent is the root, its left the first and its right the last
// node. Absent children are null and count as black.
#include <map>

namespace {

using Node = std::_Rb_tree_node_base;

bool is_black(const Node* node) {
  return node == nullptr || node->_M_color == std::_S_black;
}

// The pointer that leads to `node`: in its parent, or the root in the header.
Node*& link_to(Node* node, Node& header) {
  if (node == header._M_parent) return header._M_parent;
  Node* const parent = node->_M_parent;
  return node == parent->_M_left ? parent->_M_left : parent->_M_right;
}

void rotate_left(Node* node, Node& header) {
  Node* const up = node->_M_right;
  node->_M_right = up->_M_left;
  if (up->_M_left != nullptr) up->_M_left->_M_parent = node;
  up->_M_parent = node->_M_parent;
  link_to(node, header) = up;
  up->_M_left = node;
  node->_M_parent = up;
}

void rotate_right(Node* node, Node& header) {
  Node* const up = node->_M_left;
  node->_M_left = up->_M_right;
  if (up->_M_right != nullptr) up->_M_right->_M_parent = node;
  up->_M_parent = node->_M_parent;
  link_to(node, header) = up;
  up->_M_right = node;
  node->_M_parent = up;
}

// `node` is red, and so may its parent be.
void repair_red(Node* node, Node& header) {
  while (node != header._M_parent && node->_M_parent->_M_color == std::_S_red) {
    Node* const parent = node->_M_parent;
    Node* const grandparent = parent->_M_parent;
    const bool on_left = parent == grandparent->_M_left;
    Node* const uncle = on_left ? grandparent->_M_right : grandparent->_M_left;
    if (!is_black(uncle)) {
      parent->_M_color = uncle->_M_color = std::_S_black;
      grandparent->_M_color = std::_S_red;
      node = grandparent;
      continue;
    }
    if (on_left) {
      if (node == parent->_M_right) rotate_left(node = parent, header);
      node->_M_parent->_M_color = std::_S_black;
      grandparent->_M_color = std::_S_red;
      rotate_right(grandparent, header);
    } else {
      if (node == parent->_M_left) rotate_right(node = parent, header);
      node->_M_parent->_M_color = std::_S_black;
      grandparent->_M_color = std::_S_red;
      rotate_left(grandparent, header);
    }
  }
  header._M_parent->_M_color = std::_S_black;
}

// Ways through `node` (which may be null, so its parent is given) have one black node too few.
void repair_black(Node* node, Node* parent, Node& header) {
  while (node != header._M_parent && is_black(node)) {
    const bool on_left = node == parent->_M_left;
    Node* sibling = on_left ? parent->_M_right : parent->_M_left;
    if (sibling->_M_color == std::_S_red) {
      sibling->_M_color = std::_S_black;
      parent->_M_color = std::_S_red;
      on_left ? rotate_left(parent, header) : rotate_right(parent, header);
      sibling = on_left ? parent->_M_right : parent->_M_left;
    }
    if (is_black(sibling->_M_left) && is_black(sibling->_M_right)) {
      sibling->_M_color = std::_S_red;
      node = parent;
      parent = node->_M_parent;
      continue;
    }
    if (on_left) {
      if (is_black(sibling->_M_right)) {
        sibling->_M_left->_M_color = std::_S_black;
        sibling->_M_color = std::_S_red;
        rotate_right(sibling, header);
        sibling = parent->_M_right;
      }
      sibling->_M_color = parent->_M_color;
      parent->_M_color = std::_S_black;
      sibling->_M_right->_M_color = std::_S_black;
      rotate_left(parent, header);
    } else {
      if (is_black(sibling->_M_left)) {
        sibling->_M_right->_M_color = std::_S_black;
        sibling->_M_color = std::_S_red;
        rotate_left(sibling, header);
        sibling = parent->_M_left;
      }
      sibling->_M_color = parent->_M_color;
      parent->_M_color = std::_S_black;
      sibling->_M_left->_M_color = std::_S_black;
      rotate_right(parent, header);
    }
    break;
  }
  if (node != nullptr) node->_M_color = std::_S_black;
}

Node* next_node(Node* node) {
  if (node->_M_right != nullptr) return Node::_S_minimum(node->_M_right);
  Node* parent = node->_M_parent;
  while (node == parent->_M_right) {
    node = parent;
    parent = parent->_M_parent;
  }
  // From the root of a tree without right side the climb went around through the header.
  return node->_M_right != parent ? parent : node;
}

Node* previous_node(Node* node) {
  // Only the header is red and its own grandparent.
  if (node->_M_color == std::_S_red && node->_M_parent->_M_parent == node) return node->_M_right;
  if (node->_M_left != nullptr) return Node::_S_maximum(node->_M_left);
  Node* parent = node->_M_parent;
  while (node == parent->_M_left) {
    node = parent;
    parent = parent->_M_parent;
  }
  return parent;
}

// Takes `node` out of the tree. Gives the node that has come to the place where a node is missing (it may be
// null), and its parent.
struct Gap {
  Node* node;
  Node* parent;
  std::_Rb_tree_color lost;  // the colour that is missing there
};

Gap unlink_end(Node* node, Node& header) {
  Node* const child = node->_M_left != nullptr ? node->_M_left : node->_M_right;
  Node* const parent = node->_M_parent;
  if (child != nullptr) child->_M_parent = parent;
  link_to(node, header) = child;
  if (header._M_left == node) header._M_left = child != nullptr ? Node::_S_minimum(child) : parent;
  if (header._M_right == node) header._M_right = child != nullptr ? Node::_S_maximum(child) : parent;
  return {child, parent, node->_M_color};
}

// The node behind `node`, which has no left child, takes its place.
Gap unlink_inner(Node* node, Node& header) {
  Node* const next = Node::_S_minimum(node->_M_right);
  Gap gap{next->_M_right, next, next->_M_color};
  if (next != node->_M_right) {
    gap.parent = next->_M_parent;
    if (gap.node != nullptr) gap.node->_M_parent = gap.parent;
    gap.parent->_M_left = gap.node;
    next->_M_right = node->_M_right;
    node->_M_right->_M_parent = next;
  }
  next->_M_left = node->_M_left;
  node->_M_left->_M_parent = next;
  link_to(node, header) = next;
  next->_M_parent = node->_M_parent;
  next->_M_color = node->_M_color;
  return gap;
}

}  // namespace

namespace std {

void _Rb_tree_insert_and_rebalance(const bool insert_left, Node* node, Node* parent, Node& header) throw() {
  node->_M_parent = parent;
  node->_M_left = node->_M_right = nullptr;
  node->_M_color = _S_red;
  if (insert_left) {
    parent->_M_left = node;  // of the header: the first node
    if (parent == &header) {
      header._M_parent = header._M_right = node;
    } else if (parent == header._M_left) {
      header._M_left = node;
    }
  } else {
    parent->_M_right = node;
    if (parent == header._M_right) header._M_right = node;
  }
  repair_red(node, header);
}

Node* _Rb_tree_rebalance_for_erase(Node* const node, Node& header) throw() {
  const bool inner = node->_M_left != nullptr && node->_M_right != nullptr;
  const Gap gap = inner ? unlink_inner(node, header) : unlink_end(node, header);
  if (gap.lost == _S_black) repair_black(gap.node, gap.parent, header);
  return node;
}

Node* _Rb_tree_increment(Node* node) throw() {
  return next_node(node);
}

const Node* _Rb_tree_increment(const Node* node) throw() {
  return next_node(const_cast<Node*>(node));
}

Node* _Rb_tree_decrement(Node* node) throw() {
  return previous_node(node);
}

const Node* _Rb_tree_decrement(const Node* node) throw() {
  return previous_node(const_cast<Node*>(node));
}

}  // namespace std
