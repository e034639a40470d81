#include "symex/memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle {

SymbolicMemory::Page::Page(const Page& other)
    : bytes(other.bytes), known(other.known), known_count(other.known_count) {
  if (other.symbols != nullptr) symbols = std::make_unique<Symbols>(*other.symbols);
}

void SymbolicMemory::Page::mark_known(uint64_t at) {
  const uint64_t bit = uint64_t{1} << (at % 64);
  known_count += (known[at / 64] & bit) == 0;
  known[at / 64] |= bit;
}

void SymbolicMemory::Page::drop_symbols(uint64_t from, uint64_t size) {
  if (symbols == nullptr) return;
  for (uint64_t at = from; at < from + size; ++at) {
    symbols->count -= symbols->expression[at] != 0;
    symbols->expression[at] = 0;
  }
  if (symbols->count == 0) symbols.reset();
}

void SymbolicMemory::Page::mark_plain(uint64_t from, uint64_t size) {
  drop_symbols(from, size);
  if (known_count == kPage) return;
  for (uint64_t at = from; at < from + size; ++at) mark_known(at);
}

std::shared_ptr<SymbolicMemory::Page> SymbolicMemory::load(uint64_t number) const {
  auto page = std::make_shared<Page>();
  if (source_ != nullptr) (*source_)(number, page->bytes, page->known);
  for (const uint64_t word : page->known) page->known_count += static_cast<uint32_t>(std::popcount(word));
  return page;
}

const SymbolicMemory::Page& SymbolicMemory::page(uint64_t number) {
  CacheLine& line = cache_[number % kCache];
  if (line.number == number) return *line.page;
  std::shared_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = load(number);
  line = {number, page.get(), false};
  return *page;
}

SymbolicMemory::Page& SymbolicMemory::writable_page(uint64_t number) {
  CacheLine& line = cache_[number % kCache];
  if (line.number == number && line.writable) return *line.page;
  std::shared_ptr<Page>& page = pages_[number];
  if (page == nullptr) {
    page = load(number);
  } else if (page.use_count() != 1) {
    page = std::make_shared<Page>(*page);
  }
  line = {number, page.get(), true};
  return *page;
}

SymbolicMemory SymbolicMemory::snapshot() {
  cache_.fill({});  // none of the pages is this one's alone any more
  SymbolicMemory out(*this);
  for (auto& [number, page] : out.pages_) {
    if (page->symbols == nullptr) continue;
    page = std::make_shared<Page>(*page);
    for (uint32_t& expression : page->symbols->expression)
      if (expression != 0) expression = kInherited;
  }
  return out;
}

bool SymbolicMemory::read(uint64_t address, std::span<uint8_t> out) {
  while (!out.empty()) {
    const uint64_t at = address % kPage;
    const size_t size = std::min<size_t>(out.size(), kPage - at);
    const Page& from = page(address / kPage);
    if (!from.plain()) {
      for (size_t i = 0; i < size; ++i)
        if (!from.is_known(at + i) || (from.symbols != nullptr && from.symbols->expression[at + i] != 0))
          return false;
    }
    std::memcpy(out.data(), from.bytes.data() + at, size);
    address += size;
    out = out.subspan(size);
  }
  return true;
}

SymbolicMemory::Byte SymbolicMemory::byte(uint64_t address) {
  const Page& from = page(address / kPage);
  const uint64_t at = address % kPage;
  Byte out{.value = from.bytes[at], .known = from.is_known(at)};
  if (from.symbols != nullptr && from.symbols->expression[at] != 0) {
    out.inherited = from.symbols->expression[at] == kInherited;
    if (!out.inherited) out.expression = Expr{from.symbols->expression[at]};
    out.index = from.symbols->index[at];
  }
  return out;
}

void SymbolicMemory::write(uint64_t address, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const uint64_t at = address % kPage;
    const size_t size = std::min<size_t>(bytes.size(), kPage - at);
    Page& to = writable_page(address / kPage);
    std::memcpy(to.bytes.data() + at, bytes.data(), size);
    if (!to.plain()) to.mark_plain(at, size);
    address += size;
    bytes = bytes.subspan(size);
  }
}

void SymbolicMemory::write(uint64_t address, Expr expression, unsigned bytes, unsigned first) {
  for (unsigned i = 0; i < bytes; ++i)
    set(address + i, {.expression = expression, .index = static_cast<uint8_t>(first + i), .known = true});
}

void SymbolicMemory::set(uint64_t address, const Byte& byte) {
  Page& to = writable_page(address / kPage);
  const uint64_t at = address % kPage;
  if (!byte.known) return forget(address, 1);
  to.bytes[at] = byte.value;
  to.mark_plain(at, 1);
  if (!byte.expression && !byte.inherited) return;
  if (to.symbols == nullptr) to.symbols = std::make_unique<Symbols>();
  ++to.symbols->count;
  to.symbols->expression[at] = byte.inherited ? kInherited : byte.expression.number;
  to.symbols->index[at] = byte.index;
}

void SymbolicMemory::forget(uint64_t address, uint64_t size) {
  while (size > 0) {
    const uint64_t begin = address % kPage, part = std::min(size, kPage - begin);
    if (page(address / kPage).known_count != 0) {
      Page& to = writable_page(address / kPage);
      to.drop_symbols(begin, part);
      for (uint64_t at = begin; at < begin + part;) {
        const uint64_t bits = std::min(begin + part - at, 64 - at % 64);
        const uint64_t mask = (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << (at % 64);
        to.known_count -= static_cast<uint32_t>(std::popcount(to.known[at / 64] & mask));
        to.known[at / 64] &= ~mask;
        at += bits;
      }
    }
    address += part;
    size -= part;
  }
}

}  // namespace heddle
