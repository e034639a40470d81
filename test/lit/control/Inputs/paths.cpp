// Paths of all kinds, made, copied and dropped by two threads.
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace fs = std::filesystem;

static std::mutex mutex;
static std::map<fs::path, int> sizes;

static void add(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / (name + ".txt");
  const fs::path stem = file.stem(), empty, copy = file;
  const std::lock_guard<std::mutex> lock(mutex);
  sizes[copy.lexically_relative("/data")] = static_cast<int>(stem.native().size() + empty.native().size());
}

int main() {
  std::thread one(add, fs::path("/data"), "alpha"), two(add, fs::path("/data/more/"), "be");
  one.join();
  two.join();
  for (const auto& [path, size] : sizes) std::printf("%s %d\n", path.c_str(), size);
}
