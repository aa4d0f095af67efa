// ChunkDataset: order, however many threads read; the cache; exceptions; leaving early; going on after a
// save.

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

#include "halftone/data/data.h"
#include "halftone/engine/archive.h"
#include "halftone/engine/generator.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::data;
using Catch::Matchers::Contains;
using datasets::ChunkDatasetOptions;
using halftone::test::error_of;
using samplers::RandomSampler;
using samplers::SequentialSampler;
using Batches = std::vector<std::vector<int>>;

namespace {

/// What the reader and the test know of each other.
struct Log {
  std::atomic<int> read{0};
  std::atomic<int> resets{0};
};

/// `count` chunks of `size` numbers, counted through; odd chunks take longer.
struct Numbers : datasets::ChunkDataReader<int> {
  Numbers(std::size_t count, std::size_t size) : count(count), size(size) {}
  std::vector<int> read_chunk(std::size_t index) override {
    if (index % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++log->read;
    if (index == failing) throw std::runtime_error("chunk " + std::to_string(index) + " is damaged");
    std::vector<int> chunk(size);
    std::iota(chunk.begin(), chunk.end(), static_cast<int>(index * size));
    return chunk;
  }
  std::size_t chunk_count() override { return count; }
  void reset() override { ++log->resets; }

  std::size_t count, size, failing = 999;
  std::shared_ptr<Log> log = std::make_shared<Log>();
};

using InOrder = datasets::ChunkDataset<Numbers, SequentialSampler, SequentialSampler>;
using Shuffled = datasets::ChunkDataset<Numbers, RandomSampler, RandomSampler>;

template <class Dataset>
Batches rest_of(Dataset& dataset) {
  Batches batches;
  while (auto batch = dataset.get_batch()) batches.push_back(*batch);
  return batches;
}

std::vector<int> joined(const Batches& batches) {
  std::vector<int> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

std::vector<int> up_to(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TEST_CASE("chunk dataset: batches run over chunks in order, whatever the number of preloaders") {
  for (const std::size_t preloaders : {1, 2, 5}) {
    for (const std::size_t cache : {4, 7, 2048}) {
      INFO(preloaders << " preloaders, cache " << cache);
      InOrder dataset(Numbers(9, 3), SequentialSampler(0), SequentialSampler(0),
                      ChunkDatasetOptions(preloaders, 4, cache));
      for (int epoch = 0; epoch < 2; ++epoch) {
        dataset.reset();
        const Batches batches = rest_of(dataset);
        CHECK(batches.size() == 7);
        CHECK(batches.back().size() == 3);
        CHECK(joined(batches) == up_to(27));
        CHECK_FALSE(dataset.get_batch().has_value());
      }
    }
  }
}

TEST_CASE("chunk dataset: one seed gives one random order") {
  const auto epoch = [](std::size_t preloaders, std::size_t together) {
    manual_seed(5);
    Shuffled dataset(Numbers(8, 5), RandomSampler(0), RandomSampler(0),
                     ChunkDatasetOptions(preloaders, 4).cross_chunk_shuffle_count(together));
    dataset.reset();
    return joined(rest_of(dataset));
  };
  const std::vector<int> order = epoch(1, 1);
  CHECK(epoch(3, 1) == order);
  CHECK(order != up_to(40));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == up_to(40));
  // One chunk after the other; with more of them at a time, chunks are mixed.
  const auto mixes = [](const std::vector<int>& all) {
    for (std::size_t i = 0; i < 5; ++i) {
      if (all[i] / 5 != all[0] / 5) return true;
    }
    return false;
  };
  CHECK_FALSE(mixes(order));
  CHECK(mixes(epoch(1, 8)));
  CHECK(epoch(2, 3) == epoch(1, 3));
}

TEST_CASE("chunk dataset: a preprocessing policy sees what was read at a time, and may drop it") {
  InOrder dataset(Numbers(5, 3), SequentialSampler(0), SequentialSampler(0),
                  ChunkDatasetOptions(2, 4).cross_chunk_shuffle_count(2), [](std::vector<int>& examples) {
                    if (examples.size() == 6 && examples[0] == 6) return examples.clear();
                    std::reverse(examples.begin(), examples.end());
                  });
  dataset.reset();
  CHECK(rest_of(dataset) == Batches{{5, 4, 3, 2}, {1, 0, 14, 13}, {12}});
}

TEST_CASE("chunk dataset: a chunk that cannot be read is an exception in its place, and costs nothing else") {
  for (const std::size_t preloaders : {1, 3}) {
    Numbers reader(4, 3);
    reader.failing = 2;
    InOrder dataset(reader, SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(preloaders, 4));
    dataset.reset();
    CHECK(dataset.get_batch() == std::vector<int>{0, 1, 2, 3});
    try {
      dataset.get_batch();
      FAIL("no exception");
    } catch (const WorkerException& error) {
      CHECK_THAT(error.what(), Contains("chunk 2 is damaged"));
      CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), std::runtime_error);
    }
    CHECK(dataset.get_batch() == std::vector<int>{4, 5, 9, 10});
    CHECK(dataset.get_batch() == std::vector<int>{11});
    CHECK_FALSE(dataset.get_batch().has_value());
  }
}

TEST_CASE("chunk dataset: a sampler that throws ends the epoch with its exception") {
  struct Broken : SequentialSampler {
    Broken() : SequentialSampler(0) {}
    std::optional<std::vector<std::size_t>> next(std::size_t count) override {
      if (index() == 2) throw std::runtime_error("the sampler is broken");
      return SequentialSampler::next(count);
    }
  };
  datasets::ChunkDataset<Numbers, Broken, SequentialSampler> dataset(
      Numbers(9, 3), Broken(), SequentialSampler(0), ChunkDatasetOptions(2, 3));
  dataset.reset();
  CHECK(dataset.get_batch() == std::vector<int>{0, 1, 2});
  CHECK(dataset.get_batch() == std::vector<int>{3, 4, 5});
  CHECK_THAT(error_of([&] { dataset.get_batch(); }), Contains("the sampler is broken"));
  CHECK_FALSE(dataset.get_batch().has_value());
}

TEST_CASE("chunk dataset: example samplers may leave examples out, but not invent them") {
  struct First : SequentialSampler {
    explicit First(std::size_t shift) : SequentialSampler(0), shift(shift) {}
    void reset(std::optional<std::size_t>) override { SequentialSampler::reset(2); }
    std::optional<std::vector<std::size_t>> next(std::size_t count) override {
      auto indices = SequentialSampler::next(count);
      if (indices) {
        for (std::size_t& index : *indices) index += shift;
      }
      return indices;
    }
    std::size_t shift;
  };
  using Some = datasets::ChunkDataset<Numbers, SequentialSampler, First>;
  // With the smallest cache: what is left out must be counted as taken, or reading would stop.
  Some dataset(Numbers(4, 3), SequentialSampler(0), First(1), ChunkDatasetOptions(1, 3, 3));
  dataset.reset();
  CHECK(rest_of(dataset) == Batches{{1, 2, 4}, {5, 7, 8}, {10, 11}});
  Some wrong(Numbers(4, 3), SequentialSampler(0), First(2), ChunkDatasetOptions(1, 3, 3));
  wrong.reset();
  CHECK_THAT(error_of([&] { wrong.get_batch(); }), Contains("index 3 in a chunk of 3"));
}

TEST_CASE("chunk dataset: reading stops at the cache's size, and goes on as examples are taken") {
  const Numbers reader(20, 4);
  InOrder dataset(reader, SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(1, 4, 8));
  dataset.reset();
  const auto settles_at = [&](int expected) {
    for (int tries = 0; tries < 500 && reader.log->read < expected; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return reader.log->read == expected;
  };
  CHECK(settles_at(3));  // two chunks fill the cache, the third waits for room
  dataset.get_batch();
  CHECK(settles_at(4));
}

TEST_CASE("chunk dataset: an epoch that is left early ends cleanly, and the next starts anew") {
  const Numbers reader(50, 3);
  {
    InOrder dataset(reader, SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(3, 2, 4));
    for (int epoch = 0; epoch < 5; ++epoch) {
      dataset.reset();
      CHECK(dataset.get_batch() == std::vector<int>{0, 1});
    }
    CHECK(reader.log->resets == 5);
  }  // destroyed with readers at work and waiting
  CHECK(reader.log->read < 250);
}

TEST_CASE("chunk dataset: loaders, with workers and without") {
  for (const std::size_t workers : {0, 1, 3}) {
    Numbers reader(6, 3);
    auto dataset = datasets::make_shared_dataset<InOrder>(reader, SequentialSampler(0), SequentialSampler(0),
                                                          ChunkDatasetOptions(2, 4));
    auto loader = make_data_loader(dataset, DataLoaderOptions(4).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<int> seen;
      for (auto& batch : *loader) seen.insert(seen.end(), batch.begin(), batch.end());
      std::sort(seen.begin(), seen.end());
      CHECK(seen == up_to(18));
      loader->begin();  // left at once
    }
    reader.failing = 0;
    auto failing =
        make_data_loader(datasets::make_shared_dataset<InOrder>(
                             reader, SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(1, 4)),
                         DataLoaderOptions(4).workers(workers));
    // Several workers race for the batches, so that any of them may meet the chunk that fails.
    const auto read_all = [&] {
      for (auto it = failing->begin(); it != failing->end(); ++it) {
      }
    };
    try {
      read_all();
      FAIL("no exception");
    } catch (const WorkerException& error) {  // not one within another
      CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), std::runtime_error);
    }
  }
}

TEST_CASE("chunk dataset: a saved epoch goes on with the chunks that were not read") {
  const auto make = [] {
    return std::make_unique<InOrder>(Numbers(6, 4), SequentialSampler(0), SequentialSampler(0),
                                     ChunkDatasetOptions(1, 4, 4));
  };
  auto first = make(), second = make();
  first->reset();
  first->get_batch();
  std::stringstream stream;
  serialize::OutputArchive out;
  out << *first;
  out.save_to(stream);
  serialize::InputArchive in;
  in.load_from(stream);
  in >> *second;
  const std::size_t start = second->chunk_sampler().index();
  CHECK(start >= 1);
  CHECK(start <= 3);  // one handed out, one in the cache, one waiting for room
  second->reset();
  std::vector<int> expected = up_to(24);
  expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(4 * start));
  CHECK(joined(rest_of(*second)) == expected);
  second->reset();  // an epoch like any other
  CHECK(joined(rest_of(*second)) == up_to(24));
}

TEST_CASE("chunk dataset: misuse") {
  CHECK_THAT(error_of([] { ChunkDatasetOptions(0, 4); }), Contains("preloader_count"));
  CHECK_THAT(error_of([] { ChunkDatasetOptions(1, 4, 3); }), Contains("batch of 4, got 3"));
  InOrder dataset(Numbers(2, 3), SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(1, 4));
  CHECK_THAT(error_of([&] { dataset.get_batch(); }), Contains("reset()"));
  dataset.reset();
  CHECK_THAT(error_of([&] { dataset.get_batch(5); }), Contains("batch_size 4") && Contains("was 5"));
  CHECK_THAT(error_of([] {
               InOrder(Numbers(2, 3), SequentialSampler(0), SequentialSampler(0),
                       ChunkDatasetOptions(1, 4).cache_size(2));
             }),
             Contains("cache_size"));
}
