// Two windows share a font that is released once, when the first of them closes.
//
// The bug: each window has a std::once_flag of its own. std::call_once runs the release once per flag, guarded
// by a check that is not atomic with the release.
//
// HEDDLE-FAILURE: double-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B each window sees the font before the other one has taken it away
// HEDDLE-SMALL: yes
#include <atomic>
#include <mutex>
#include <thread>

struct Font {
  char glyphs[100] = {};
};

std::atomic<Font*> font{new Font};
#ifdef FIXED
std::once_flag released;
#endif

static void release() {
  Font* mine = font.load();  // [A]
  if (mine == nullptr) return;
  font.store(nullptr);  // [B]
  delete mine;
}

struct Window {
  void close() { std::call_once(released, release); }
#ifndef FIXED
  std::once_flag released;
#endif
};

int main() {
  Window left;
  Window right;
  std::thread one([&] { left.close(); });
  std::thread two([&] { right.close(); });
  one.join();
  two.join();
}
