#include "symex/shared_bytes.h"

#include <algorithm>
#include <bit>

namespace heddle {

void AccessNotes::note(uint64_t address, uint64_t size, bool writes, uint32_t epoch) {
  ++count_;
  const auto when = static_cast<uint16_t>(std::min<uint32_t>(epoch, UINT16_MAX));
  while (size > 0) {
    const uint64_t number = address / kPage;
    if (number != last_number_) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) page = std::make_unique<Page>();
      last_ = page.get();
      last_number_ = number;
    }
    const uint64_t part = std::min(size, 8 - address % 8);
    const auto mask = static_cast<uint8_t>(((1u << part) - 1) << (address % 8));
    Word& word = (*last_)[address % kPage / 8];
    if (writes) {
      word.written |= mask;
      word.write_epoch = when;
    } else {
      word.read |= mask;
      word.read_epoch = when;
    }
    address += part;
    size -= part;
  }
}

bool SharedBytes::contains(uint64_t address, uint64_t size) const {
  while (size > 0) {
    const auto found = pages_.find(address / kPage);
    const uint64_t part = std::min(size, kPage - address % kPage);
    if (found != pages_.end()) {
      for (uint64_t at = address % kPage, end = at + part; at < end;) {
        const uint64_t bits = std::min(end - at, 64 - at % 64);
        const uint64_t mask = (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << (at % 64);
        if ((found->second[at / 64] & mask) != 0) return true;
        at += bits;
      }
    }
    address += part;
    size -= part;
  }
  return false;
}

bool SharedBytes::covers(uint64_t address, uint64_t size) const {
  for (uint64_t i = 0; i < size; ++i)
    if (!contains(address + i, 1)) return false;
  return true;
}

void SharedBytes::add(uint64_t address, uint64_t size) {
  while (size > 0) {
    Page& page = pages_.try_emplace(address / kPage).first->second;
    const uint64_t part = std::min(size, kPage - address % kPage);
    for (uint64_t at = address % kPage, end = at + part; at < end;) {
      const uint64_t bits = std::min(end - at, 64 - at % 64);
      const uint64_t mask = (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << (at % 64);
      count_ += static_cast<uint64_t>(std::popcount(mask & ~page[at / 64]));
      page[at / 64] |= mask;
      at += bits;
    }
    address += part;
    size -= part;
  }
}

void SharedBytes::add(const SharedBytes& other) {
  for (const auto& [number, page] : other.pages_)
    for (uint64_t at = 0; at < kPage; ++at)
      if ((page[at / 64] >> (at % 64) & 1) != 0) add(number * kPage + at, 1);
}

namespace {

// What `first` did up to its epoch comes before everything `other` does.
bool all_before(uint32_t first, uint32_t epoch, uint32_t other, std::span<const ThreadOrigin> origins) {
  for (uint32_t at = other; origins[at].maker != ThreadOrigin::kNone; at = origins[at].maker)
    if (origins[at].maker == first) return epoch <= origins[at].epoch;
  return false;
}

struct Use {
  uint32_t thread;
  const AccessNotes::Word* word;
};

bool ordered(const Use& a, const Use& b, bool a_writes, bool b_writes, std::span<const ThreadOrigin> origins) {
  const uint32_t a_epoch = a_writes ? a.word->write_epoch : a.word->read_epoch;
  const uint32_t b_epoch = b_writes ? b.word->write_epoch : b.word->read_epoch;
  return all_before(a.thread, a_epoch, b.thread, origins) || all_before(b.thread, b_epoch, a.thread, origins);
}

// The bytes of a word that the two share.
uint8_t conflict(const Use& a, const Use& b, std::span<const ThreadOrigin> origins) {
  uint8_t out = 0;
  if ((a.word->written & b.word->written) != 0 && !ordered(a, b, true, true, origins))
    out |= a.word->written & b.word->written;
  if ((a.word->written & b.word->read) != 0 && !ordered(a, b, true, false, origins))
    out |= a.word->written & b.word->read;
  if ((a.word->read & b.word->written) != 0 && !ordered(a, b, false, true, origins))
    out |= a.word->read & b.word->written;
  return out;
}

}  // namespace

bool add_shared(std::span<const AccessNotes* const> threads, std::span<const ThreadOrigin> origins,
                SharedBytes& shared) {
  const uint64_t before = shared.count();
  std::unordered_map<uint64_t, std::vector<uint32_t>> users;  // of pages
  for (uint32_t i = 0; i < threads.size(); ++i)
    for (const auto& [number, page] : threads[i]->pages()) users[number].push_back(i);
  for (const auto& [number, of_page] : users) {
    if (of_page.size() < 2) continue;
    for (size_t i = 0; i < AccessNotes::kPage / 8; ++i) {
      std::vector<Use> uses;
      for (const uint32_t thread : of_page) {
        const AccessNotes::Word& word = (*threads[thread]->pages().at(number))[i];
        if ((word.read | word.written) != 0) uses.push_back({thread, &word});
      }
      uint8_t bytes = 0;
      const uint64_t address = number * AccessNotes::kPage + i * 8;
      for (size_t a = 0; a < uses.size(); ++a)
        for (size_t b = a + 1; b < uses.size(); ++b)
          if (!origins[uses[a].thread].is_own(address) || !origins[uses[b].thread].is_own(address))
            bytes |= conflict(uses[a], uses[b], origins);
      for (unsigned bit = 0; bit < 8; ++bit)
        if ((bytes >> bit & 1) != 0) shared.add(address + bit, 1);
    }
  }
  return shared.count() != before;
}

}  // namespace heddle
