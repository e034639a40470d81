// Two threads count in two steps; what they say when the count is wrong is meant for those who print it: markup, commands for
// terminals, bytes that are no text.
#include <atomic>
#include <stdexcept>
#include <thread>

std::atomic<int> visits asm("</script><img src=x onerror=window.hacked=1>&amp;visits");

static void visit() {
  const int before = visits.load();
  visits.store(before + 1);
}

int main() {
  std::thread one(visit), two(visit);
  one.join();
  two.join();
  if (visits.load() != 2)
    throw std::runtime_error("<script>window.hacked=1</script>\x1b]0;hacked\x07\x1b[31m \xff\xfe \xe2\x80\xa8'\"]]>-->");
}
