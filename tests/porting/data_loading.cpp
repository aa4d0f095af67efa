// Datasets, transforms, samplers and loaders.

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "halftone/tests/porting/check.h"

namespace {

using Example = torch::data::Example<>;

/// Example i is (i, -i).
class Numbers : public torch::data::Dataset<Numbers> {
 public:
  explicit Numbers(std::size_t count) : count_(count) {}
  Example get(std::size_t index) override {
    return {torch::full({2}, static_cast<double>(index)), torch::full({1}, -static_cast<double>(index))};
  }
  torch::optional<std::size_t> size() const override { return count_; }

 private:
  std::size_t count_;
};

class Failing : public torch::data::Dataset<Failing> {
 public:
  Example get(std::size_t index) override {
    if (index == 2) throw std::runtime_error("no example 2");
    return {torch::ones({1}), torch::ones({1})};
  }
  torch::optional<std::size_t> size() const override { return 4; }
};

class Stream : public torch::data::datasets::StreamDataset<Stream, std::vector<int>> {
 public:
  std::vector<int> get_batch(std::size_t size) override {
    std::vector<int> batch;
    while (batch.size() < size) batch.push_back(next_++);
    return batch;
  }
  torch::optional<std::size_t> size() const override { return 7; }

 private:
  int next_ = 0;
};

void loading() {
  for (const std::size_t workers : {0, 2}) {
    auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        Numbers(10).map(torch::data::transforms::Stack<>()),
        torch::data::DataLoaderOptions().batch_size(4).workers(workers));
    std::vector<std::int64_t> sizes;
    double sum = 0, target_sum = 0;
    for (auto& batch : *loader) {
      sizes.push_back(batch.data.size(0));
      sum += batch.data.sum().item<double>();
      target_sum += batch.target.sum().item<double>();
    }
    PORTING_CHECK((sizes == std::vector<std::int64_t>{4, 4, 2}));
    PORTING_CHECK(sum == 90 && target_sum == -45);

    auto random =
        torch::data::make_data_loader(Numbers(20).map(torch::data::transforms::Stack<>()),
                                      torch::data::DataLoaderOptions(6).workers(workers).drop_last(true));
    std::set<double> seen;
    std::size_t batches = 0;
    for (Example& batch : *random) {
      ++batches;
      for (std::int64_t i = 0; i < batch.data.size(0); ++i) seen.insert(batch.data[i][0].item<double>());
    }
    PORTING_CHECK(batches == 3 && seen.size() == 18);
  }
  // Without a collation, a batch is a vector of examples.
  auto plain = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(3), 2);
  std::size_t count = 0;
  for (auto& batch : *plain) count += batch.size();
  PORTING_CHECK(count == 3);
  auto it = plain->begin();
  PORTING_CHECK(it != plain->end());
  PORTING_CHECK(it->size() == 2 && (*it)[1].data[0].item<double>() == 1);
  ++it;
  ++it;
  PORTING_CHECK(it == plain->end());
}

void failures() {
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Failing(), torch::data::DataLoaderOptions(1).workers(1));
  std::string message;
  int batches = 0;
  try {
    for (auto& batch : *loader) batches += static_cast<int>(batch.size());
  } catch (const torch::data::WorkerException& error) {
    message = error.what();
  }
  PORTING_CHECK(batches == 2);
  PORTING_CHECK(message.find("no example 2") != std::string::npos);
}

void transforms() {
  auto dataset = Numbers(4)
                     .map(torch::data::transforms::Lambda<Example>([](Example example) {
                       example.target = example.target * 2;
                       return example;
                     }))
                     .map(torch::data::transforms::TensorLambda<>([](torch::Tensor x) { return x + 10; }))
                     .map(torch::data::transforms::Stack<>());
  const std::vector<std::size_t> indices{1, 3};
  const auto batch = dataset.get_batch(indices);
  PORTING_CLOSE(batch.data, torch::tensor({{11.0, 11.0}, {13.0, 13.0}}).to(batch.data.scalar_type()));
  PORTING_CLOSE(batch.target, torch::tensor({{-2.0}, {-6.0}}).to(batch.target.scalar_type()));
  PORTING_CHECK(dataset.size().value() == 4);

  torch::data::transforms::Normalize<> normalize(0.5, 2.0);
  PORTING_CLOSE(normalize(torch::full({1, 2, 2}, 4.5)), torch::full({1, 2, 2}, 2.0));
  torch::data::transforms::Normalize<> channels({1.0, 2.0}, {1.0, 4.0});
  PORTING_CLOSE(channels(torch::full({2, 1, 1}, 6.0)).view({2}), torch::tensor({5.0f, 1.0f}));

  auto rows = torch::data::datasets::TensorDataset(torch::arange(6, torch::kFloat).view({3, 2}));
  PORTING_CHECK(rows.size().value() == 3);
  PORTING_CLOSE(rows.get(1).data, torch::tensor({2.0f, 3.0f}));
}

void samplers() {
  torch::data::samplers::SequentialSampler sequential(5);
  PORTING_CHECK((sequential.next(3).value() == std::vector<std::size_t>{0, 1, 2}));
  PORTING_CHECK((sequential.next(3).value() == std::vector<std::size_t>{3, 4}));
  PORTING_CHECK(!sequential.next(3).has_value());
  sequential.reset();
  PORTING_CHECK(sequential.next(1).value()[0] == 0);

  torch::data::samplers::RandomSampler random(10);
  const auto all = random.next(10).value();
  PORTING_CHECK((std::set<std::size_t>(all.begin(), all.end()).size() == 10));
  PORTING_CHECK(!random.next(1).has_value());

  std::set<std::size_t> shared;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    torch::data::samplers::DistributedRandomSampler sampler(10, 2, rank);
    const auto part = sampler.next(100).value();
    PORTING_CHECK(part.size() == 5);
    shared.insert(part.begin(), part.end());
  }
  PORTING_CHECK(shared.size() == 10);
  torch::data::samplers::DistributedSequentialSampler last(10, 3, 2, /*allow_duplicates=*/false);
  PORTING_CHECK((last.next(9).value() == std::vector<std::size_t>{6, 7, 8}));

  torch::data::samplers::StreamSampler stream(7);
  PORTING_CHECK(stream.next(5).value().size() == 5 && stream.next(5).value().size() == 2);
  auto loader = torch::data::make_data_loader(Stream(), torch::data::samplers::StreamSampler(7),
                                              torch::data::DataLoaderOptions(3));
  std::vector<std::size_t> sizes;
  for (auto& batch : *loader) sizes.push_back(batch.size());
  PORTING_CHECK((sizes == std::vector<std::size_t>{3, 3, 1}));
}

/// Chunk i of three holds 10 * i, 10 * i + 1, ... : three, none, four.
class Chunks : public torch::data::datasets::ChunkDataReader<int> {
 public:
  using BatchType = torch::data::datasets::ChunkDataReader<int>::ChunkType;
  explicit Chunks(std::size_t failing = 99) : failing_(failing) {}
  BatchType read_chunk(std::size_t index) override {
    if (index == failing_) throw std::runtime_error("no chunk " + std::to_string(index));
    const std::size_t sizes[] = {3, 0, 4};
    BatchType chunk;
    for (std::size_t i = 0; i < sizes[index]; ++i) chunk.push_back(static_cast<int>(10 * index + i));
    return chunk;
  }
  std::size_t chunk_count() override { return 3; }
  void reset() override {}

 private:
  std::size_t failing_;
};

using Sequential = torch::data::samplers::SequentialSampler;
using Random = torch::data::samplers::RandomSampler;
using torch::data::datasets::ChunkDataset;
using torch::data::datasets::ChunkDatasetOptions;

void chunks() {
  using InOrder = ChunkDataset<Chunks, Sequential, Sequential>;
  auto dataset = torch::data::datasets::make_shared_dataset<InOrder>(
      Chunks(), Sequential(0), Sequential(0), ChunkDatasetOptions(/*preloader_count=*/1, /*batch_size=*/2));
  for (const std::size_t workers : {0, 1}) {
    auto loader = torch::data::make_data_loader(dataset, torch::data::DataLoaderOptions(2).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::vector<int>> batches;
      for (auto& batch : *loader) batches.push_back(batch);
      PORTING_CHECK((batches == std::vector<std::vector<int>>{{0, 1}, {2, 20}, {21, 22}, {23}}));
    }
  }
  PORTING_CHECK(!dataset.size().has_value());
  PORTING_THROWS(dataset.get_batch(3));

  const auto negate = [](std::vector<int>& examples) {
    for (int& example : examples) example = -example;
  };
  using Shuffled = ChunkDataset<Chunks, Random, Random>;
  auto shuffled = torch::data::datasets::make_shared_dataset<Shuffled>(
      Chunks(), Random(0), Random(0), ChunkDatasetOptions(2, 3).cache_size(5).cross_chunk_shuffle_count(2),
      negate);
  auto loader = torch::data::make_data_loader(
      shuffled.map(torch::data::transforms::BatchLambda<std::vector<int>, std::size_t>(
          [](std::vector<int> batch) { return batch.size(); })),
      torch::data::DataLoaderOptions(3));
  std::multiset<std::size_t> sizes;
  for (auto& size : *loader) sizes.insert(size);
  PORTING_CHECK((sizes == std::multiset<std::size_t>{1, 3, 3}));
  shuffled->reset();
  std::multiset<int> seen;
  while (auto batch = shuffled->get_batch()) seen.insert(batch->begin(), batch->end());
  PORTING_CHECK((seen == std::multiset<int>{0, -1, -2, -20, -21, -22, -23}));
  shuffled->reset();  // and left: the preloaders are stopped

  InOrder failing(Chunks(0), Sequential(0), Sequential(0), ChunkDatasetOptions(1, 4));
  PORTING_THROWS(failing.get_batch(4));  // before reset()
  failing.reset();
  std::string message;
  try {
    failing.get_batch();
  } catch (const torch::data::WorkerException& error) {
    message = error.what();
  }
  PORTING_CHECK(message.find("no chunk 0") != std::string::npos);

  PORTING_THROWS(ChunkDatasetOptions(0, 1));
  PORTING_THROWS(ChunkDatasetOptions(1, 0));
  PORTING_THROWS(ChunkDatasetOptions(1, 5, 4));
  PORTING_THROWS(ChunkDatasetOptions(1, 1, 1, 0));

  InOrder first(Chunks(), Sequential(0), Sequential(0), ChunkDatasetOptions(1, 3, 3));
  InOrder second(Chunks(), Sequential(3), Sequential(0), ChunkDatasetOptions(1, 3, 3));
  first.reset();
  while (first.get_batch()) {
  }
  std::stringstream stream;
  {
    torch::serialize::OutputArchive archive;
    first.save(archive);
    archive.save_to(stream);
  }
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  second.load(archive);
  PORTING_CHECK(second.chunk_sampler().index() == 3);
  second.reset();  // continues the epoch, which is over
  PORTING_CHECK(!second.get_batch().has_value());
}

}  // namespace

int main() {
  loading();
  failures();
  transforms();
  samplers();
  chunks();
  return porting::result("data_loading");
}
