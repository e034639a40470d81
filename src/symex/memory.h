// Memory of an interpreted thread: bytes by address, each with a value, with an expression, or not known.
//
// Pages are shared between copies until one of them writes: a snapshot for a new thread costs a table of pages.
// Bytes that nobody wrote come from `source` (the image of the program), or are not known: memory of libraries,
// or never initialised.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>

#include "trace/expressions.h"

namespace heddle {

class SymbolicMemory {
 public:
  static constexpr uint64_t kPage = 4096;

  // A byte of a value: byte `index` of `expression`; without one the byte itself.
  struct Byte {
    Expr expression{};
    uint8_t index = 0;
    uint8_t value = 0;
    bool known = false;      // false: nothing is known of it
    bool inherited = false;  // depends on what the thread's maker had read
  };

  // Fills in what is known of a page before anything is written: bytes, and a bit for each of them.
  using PageSource = std::function<void(uint64_t page, std::span<uint8_t, kPage> bytes,
                                        std::span<uint64_t, kPage / 64> known)>;

  explicit SymbolicMemory(PageSource source) : source_(std::make_shared<const PageSource>(std::move(source))) {}

  // What a thread sees that is made now. Expressions are this thread's: for the other one they are inherited.
  SymbolicMemory snapshot();

  // True if all bytes are plain: then they are in `out`.
  bool read(uint64_t address, std::span<uint8_t> out);
  Byte byte(uint64_t address);
  void write(uint64_t address, std::span<const uint8_t> bytes);
  // The bytes of an expression, from `first` on.
  void write(uint64_t address, Expr expression, unsigned bytes, unsigned first = 0);
  void set(uint64_t address, const Byte& byte);
  void forget(uint64_t address, uint64_t size);  // nothing is known of it any more
  // Whether somebody has read or written something near it.
  bool is_touched(uint64_t address) const { return pages_.contains(address / kPage); }

 private:
  struct Symbols {
    std::array<uint32_t, kPage> expression{};
    std::array<uint8_t, kPage> index{};
    uint32_t count = 0;  // bytes with an expression
  };
  struct Page {
    std::array<uint8_t, kPage> bytes{};
    std::array<uint64_t, kPage / 64> known{};
    uint32_t known_count = 0;
    std::unique_ptr<Symbols> symbols;

    Page() = default;
    Page(const Page& other);
    bool plain() const { return known_count == kPage && symbols == nullptr; }
    bool is_known(uint64_t at) const { return (known[at / 64] >> (at % 64) & 1) != 0; }
    void mark_known(uint64_t at);
    void mark_plain(uint64_t from, uint64_t size);
    void drop_symbols(uint64_t from, uint64_t size);
  };
  struct CacheLine {
    uint64_t number = UINT64_MAX;
    Page* page = nullptr;
    bool writable = false;
  };
  static constexpr size_t kCache = 64;
  static constexpr uint32_t kInherited = UINT32_MAX;  // in place of an expression

  const Page& page(uint64_t number);
  Page& writable_page(uint64_t number);
  std::shared_ptr<Page> load(uint64_t number) const;

  std::shared_ptr<const PageSource> source_;
  std::unordered_map<uint64_t, std::shared_ptr<Page>> pages_;
  std::array<CacheLine, kCache> cache_{};
};

}  // namespace heddle
