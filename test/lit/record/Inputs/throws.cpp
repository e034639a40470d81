#include <stdexcept>
#include <thread>

static void pay(int amount) {
  if (amount > 10) throw std::runtime_error("no money");
}

int main() {
  std::thread([] { pay(5); }).join();
  std::thread([] { pay(50); }).join();
}
