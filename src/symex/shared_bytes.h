// Which bytes more than one thread uses: found out after all threads have been interpreted (D5).
//
// Each thread notes what it reads and writes, by words of 8 bytes with a bit for each byte, and when: its
// *epoch*, the number of threads it had made before. What a thread did before it made another one comes before
// all that the other one and those made by it do; two accesses that are ordered so are no reason to share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle {

class AccessNotes {
 public:
  static constexpr uint64_t kPage = 4096;
  struct Word {
    uint8_t read = 0, written = 0;             // a bit for each byte
    uint16_t read_epoch = 0, write_epoch = 0;  // the last of each
  };
  using Page = std::array<Word, kPage / 8>;

  void note(uint64_t address, uint64_t size, bool writes, uint32_t epoch);
  const std::unordered_map<uint64_t, std::unique_ptr<Page>>& pages() const { return pages_; }
  uint64_t count() const { return count_; }

 private:
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_number_ = UINT64_MAX;
  Page* last_ = nullptr;
  uint64_t count_ = 0;
};

class SharedBytes {
 public:
  bool contains(uint64_t address, uint64_t size) const;  // one of them at least
  bool covers(uint64_t address, uint64_t size) const;    // all of them
  void add(uint64_t address, uint64_t size);
  void add(const SharedBytes& other);
  uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr uint64_t kPage = 4096;
  using Page = std::array<uint64_t, kPage / 64>;
  std::unordered_map<uint64_t, Page> pages_;
  uint64_t count_ = 0;
};

// A thread, for the question what comes before it and what is its own: its maker (an index), how many the maker
// had made before, and where its stack is, with its thread-local variables. A stack is used again for another
// thread when the first has ended: what both do there by themselves are two things.
struct ThreadOrigin {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t maker = kNone;
  uint32_t epoch = 0;
  uint64_t stack_low = 0, stack_high = 0;

  bool is_own(uint64_t address) const { return stack_low <= address && address < stack_high; }
};

// Adds to `shared` what the threads share; true if it grew.
bool add_shared(std::span<const AccessNotes* const> threads, std::span<const ThreadOrigin> origins,
                SharedBytes& shared);

}  // namespace heddle
