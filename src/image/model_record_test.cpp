#include "image/model_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "image/elf_file.h"
#include "image/link_plan.h"

namespace heddle {
namespace {

using testing::HasSubstr;

std::string two_records() {
  return encode_record({HEDDLE_RECORD_module, {{"source", "a.c"}}, "first"}) +
         encode_record({HEDDLE_RECORD_module, {{"source", "b.c"}}, std::string(10'000, 'z')});
}

TEST(ModelRecord, RecordsStandOneBehindTheOther) {
  const auto records = decode_records(two_records(), "test");
  ASSERT_TRUE(records) << records.error().text();
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].body, "first");
  EXPECT_EQ((*records)[1].meta["source"], "b.c");
  EXPECT_EQ((*records)[1].body, std::string(10'000, 'z'));
  EXPECT_TRUE(decode_records("", "test")->empty());
}

TEST(ModelRecord, AnotherFormatNamesBothVersions) {
  std::string section = two_records();
  const uint32_t format = HEDDLE_MODEL_FORMAT + 41;
  std::memcpy(section.data() + offsetof(heddle_record_header, format), &format, sizeof format);
  std::memcpy(section.data() + offsetof(heddle_record_header, tool), "9.8.7", 6);
  const auto records = decode_records(section, "app section .heddle.module");
  ASSERT_FALSE(records);
  EXPECT_THAT(records.error().text(), HasSubstr("format 42"));
  EXPECT_THAT(records.error().text(), HasSubstr("built with heddle 9.8.7"));
  EXPECT_THAT(records.error().text(), HasSubstr("app section .heddle.module, offset 0"));
  EXPECT_THAT(records.error().text(), HasSubstr("next:"));
}

TEST(ModelRecord, DamageNamesTheOffset) {
  const std::string whole = two_records();
  const size_t second = encode_record({HEDDLE_RECORD_module, {{"source", "a.c"}}, "first"}).size();
  std::string section = whole;
  section[second] ^= 1;
  EXPECT_THAT(decode_records(section, "x").error().where, HasSubstr("offset " + std::to_string(second)));
}

// Every cut gives an error except at the boundary between records.
TEST(ModelRecord, EveryTruncationIsFound) {
  const std::string whole = two_records();
  const size_t second = encode_record({HEDDLE_RECORD_module, {{"source", "a.c"}}, "first"}).size();
  for (size_t cut = 1; cut < whole.size(); ++cut)
    if (cut != second) EXPECT_FALSE(decode_records(whole.substr(0, cut), "x")) << cut;
}

// A flipped bit gives an error or, in the version text and the frame's unused bits, the same records.
TEST(ModelRecord, NoFlippedBitChangesWhatIsRead) {
  const std::string whole = two_records();
  const auto good = decode_records(whole, "x");
  size_t errors = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto records = decode_records(damaged, "x");
    if (!records) {
      ++errors;
      continue;
    }
    ASSERT_EQ(records->size(), good->size()) << bit;
    for (size_t i = 0; i < good->size(); ++i) {
      EXPECT_EQ((*records)[i].body, (*good)[i].body) << bit;
      EXPECT_EQ((*records)[i].meta, (*good)[i].meta) << bit;
    }
  }
  EXPECT_GT(errors, whole.size() * 8 * 3 / 4);
}

LinkPlan sample_plan() {
  LinkPlan plan;
  plan.cxx = true;
  plan.folder = "/src";
  plan.output = "/src/app";
  plan.command = {"-o", "app", "a.o"};
  plan.items.push_back({{"-Wl,-rpath,$ORIGIN"}, {}});
  plan.items.push_back({{}, {{LinkInput::Kind::modelled, "/src/a.o", {}}}});
  plan.items.push_back(
      {{}, {{LinkInput::Kind::archive, "/src/l.a", {{"x.o", "bytes"}, {"y.o", std::string("\0z", 2)}}}}});
  return plan;
}

TEST(LinkPlan, RoundTrips) {
  const LinkPlan plan = sample_plan();
  const auto records = decode_records(encode_record(plan.to_record()), "x");
  ASSERT_TRUE(records);
  const Result<LinkPlan> read = LinkPlan::from_record(records->front());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->cxx);
  EXPECT_FALSE(read->shared);
  EXPECT_EQ(read->command, plan.command);
  ASSERT_EQ(read->items.size(), 3u);
  EXPECT_EQ(read->items[0].flags, plan.items[0].flags);
  EXPECT_EQ(read->items[1].input[0].kind, LinkInput::Kind::modelled);
  ASSERT_EQ(read->items[2].input[0].members.size(), 2u);
  EXPECT_EQ(read->items[2].input[0].members[1].name, "y.o");
  EXPECT_EQ(read->items[2].input[0].members[1].bytes, std::string("\0z", 2));
}

// The description passed its checksum but was written by something else: any JSON must give a plan or an error.
TEST(LinkPlan, AnyJsonIsTakenOrRefused) {
  std::mt19937 random(3);
  const std::string text = sample_plan().to_record().meta.dump();
  const std::string pieces = "0123456789{}[]\":,ntfae-";
  size_t parsed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (unsigned n = random() % 3 + 1; n > 0; --n)
      damaged[random() % damaged.size()] = pieces[random() % pieces.size()];
    const Result<Json> meta = parse_json(damaged, "x");
    if (!meta) continue;
    ++parsed;
    const Result<LinkPlan> plan = LinkPlan::from_record({HEDDLE_RECORD_link, *meta, "bytes"});
    if (!plan) EXPECT_FALSE(plan.error().what.empty());
  }
  EXPECT_GT(parsed, 1000u);
}

TEST(ElfFile, ReadsWhatSectionObjectWrites) {
  const std::string object = section_object({{HEDDLE_SECTION_LINK, "link"}, {".other", "o"}});
  const Result<ElfFile> elf = ElfFile::from_memory(object, "test");
  ASSERT_TRUE(elf) << elf.error().text();
  EXPECT_EQ(elf->kind(), ElfFile::Kind::relocatable);
  EXPECT_EQ(elf->section(HEDDLE_SECTION_LINK), "link");
  EXPECT_EQ(elf->section(".other"), "o");
  EXPECT_EQ(elf->section(".note.GNU-stack"), "");
  EXPECT_EQ(elf->section(".text"), std::nullopt);
  EXPECT_FALSE(elf->has_symbol_table());
}

TEST(ElfFile, ReadsThisVeryProgram) {
  const Result<ElfFile> elf = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(elf) << elf.error().text();
  EXPECT_EQ(elf->kind(), ElfFile::Kind::executable);
  EXPECT_TRUE(elf->has_symbol_table());
  const auto functions = elf->functions();
  EXPECT_TRUE(std::any_of(functions.begin(), functions.end(),
                          [](const ElfSymbol& s) { return s.name == "main" || s.name == "_start"; }));
  EXPECT_THAT(elf->needed_libraries(), testing::Contains(HasSubstr("libc.so")));
}

TEST(ElfFile, RefusesOtherFiles) {
  EXPECT_THAT(ElfFile::from_memory("#!/bin/sh\n", "script").error().text(), HasSubstr("not an ELF file"));
  EXPECT_FALSE(ElfFile::from_memory("", "empty"));
}

TEST(ElfFile, DamagedObjectsNeverCrash) {
  const std::string whole = section_object({{HEDDLE_SECTION_MODULE, two_records()}});
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = whole;
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    for (unsigned n = random() % 4; n > 0 && !damaged.empty(); --n) {
      // Headers are a small part of the file and the part worth damaging.
      const size_t at = random() % 2 == 0
                            ? random() % damaged.size()
                            : damaged.size() - 1 - random() % std::min<size_t>(damaged.size(), 256);
      damaged[at] ^= static_cast<char>(1 << random() % 8);
    }
    const Result<ElfFile> elf = ElfFile::from_memory(damaged, "damaged");
    if (!elf) continue;
    elf->build_id();
    elf->functions();
    elf->needed_libraries();
    if (auto section = elf->section(HEDDLE_SECTION_MODULE)) (void)decode_records(*section, "damaged");
  }
}

}  // namespace
}  // namespace heddle
