// A session starts a detached thread that counts what it sends; the session waits for "sent" and is deleted.
//
// The bug: the detached thread uses the session once more after it has said "sent".
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the session is deleted before the detached thread counts
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: assert
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

struct Session {
  std::atomic<int> packets{0};
};

std::mutex mutex;
std::condition_variable changed;
bool sent = false;

static void send(Session* session) {
#ifdef FIXED
  session->packets.fetch_add(1);
#endif
  {
    std::lock_guard lock(mutex);
    sent = true;
    changed.notify_one();
  }
#ifndef FIXED
  session->packets.fetch_add(1);  // [B]
#endif
}

int main() {
  auto* session = new Session;
  std::thread(send, session).detach();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return sent; });
  }
  delete session;            // [A]
  auto* next = new Session;  // often in the same place
  std::lock_guard lock(mutex);
  assert(next->packets.load() == 0);
  delete next;
}
