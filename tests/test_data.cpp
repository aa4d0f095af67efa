// IDX files, datasets, transforms, samplers and the loader: order, exceptions, early exit, damaged files.

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "halftone/data/data.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/values.h"

namespace torch = halftone;
using namespace halftone;
using namespace halftone::data;
using Catch::Matchers::Contains;
using halftone::test::error_of;
using halftone::test::List;
using halftone::test::values;

namespace {

/// A folder of this test's own, removed with everything in it.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("halftone_data_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  std::filesystem::path path;
};

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_gz(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An IDX header followed by `data`.
std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& data) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes + data;
}

/// Example i is (i, 10 i); index `bad` throws.
struct Numbers : Dataset<Numbers> {
  explicit Numbers(std::size_t n, std::size_t bad = SIZE_MAX) : n(n), bad(bad) {}
  Example<> get(std::size_t i) override {
    if (i == bad) throw std::runtime_error("no example " + std::to_string(i));
    if (i % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // workers finish out of order
    return {full({1}, static_cast<float>(i)), full({}, static_cast<std::int64_t>(10 * i))};
  }
  std::optional<std::size_t> size() const override { return n; }
  std::size_t n, bad;
};

template <class Loader>
List epoch(Loader& loader) {
  List seen;
  for (Example<>& batch : loader) {
    for (const double v : values(batch.data)) seen.push_back(v);
    REQUIRE(equal(batch.target.to(kFloat), batch.data.squeeze(1) * 10));
  }
  return seen;
}

template <class Sampler = samplers::RandomSampler>
auto loader_of(std::size_t n, const DataLoaderOptions& options, std::size_t bad = SIZE_MAX) {
  return make_data_loader<Sampler>(Numbers(n, bad).map(transforms::Stack<>()), options);
}

}  // namespace

TEST_CASE("read_idx: plain, compressed, every element type") {
  const Folder folder;
  write(folder / "a", idx(0x08, {2, 3}, std::string("\x00\x01\x02\x7f\x80\xff", 6)));
  const Tensor bytes = read_idx(folder / "a");
  REQUIRE(bytes.scalar_type() == kByte);
  REQUIRE(bytes.sizes() == IntArrayRef{2, 3});
  REQUIRE(values(bytes) == List{0, 1, 2, 127, 128, 255});

  write_gz(folder / "b.gz", idx(0x0B, {2}, std::string("\xff\xfe\x01\x00", 4)));
  REQUIRE(values(read_idx(folder / "b")) == List{-2, 256});  // the .gz is found
  REQUIRE(read_idx(folder / "b.gz").scalar_type() == kInt);
  write(folder / "c", idx(0x0C, {1}, std::string("\x00\x01\x00\x02", 4)));
  REQUIRE(values(read_idx(folder / "c")) == List{65538});
  write(folder / "d", idx(0x0D, {1}, std::string("\x3f\xc0\x00\x00", 4)));
  REQUIRE(values(read_idx(folder / "d")) == List{1.5});
  write(folder / "e", idx(0x0E, {1}, std::string("\xbf\xf8\0\0\0\0\0\0", 8)));
  REQUIRE(values(read_idx(folder / "e")) == List{-1.5});
  write(folder / "none", idx(0x08, {0, 4}, ""));
  REQUIRE(read_idx(folder / "none").numel() == 0);
}

TEST_CASE("read_idx refuses damaged and hostile files") {
  const Folder folder;
  const auto refuses = [&](const std::string& bytes, const char* why) {
    write(folder / "x", bytes);
    INFO(why);
    REQUIRE_THAT(error_of([&] { read_idx(folder / "x"); }), Contains(why));
  };
  refuses("", "too short");
  refuses(std::string("\0\0\x08", 3), "too short");
  refuses("PNG\x01.............", "two zero bytes");
  refuses(idx(0x07, {1}, "a"), "element type 7");
  refuses(std::string("\0\0\x08\0", 4), "dimensions");
  refuses(std::string("\0\0\x08\x7f", 4), "127");
  refuses(idx(0x08, {2, 2}, "abc"), "the file has 3");
  refuses(idx(0x08, {2}, "abc"), "more data");
  refuses(idx(0x08, {0xffffffff, 0xffffffff, 0xffffffff}, "abc"), "");
  refuses(idx(0x08, {0xffffffff}, "abc"), "the file has 3");  // no 4 GiB are asked for
  REQUIRE_THAT(error_of([&] { read_idx(folder / "missing"); }), Contains("missing.gz"));
  REQUIRE_THAT(error_of([&] { read_idx(folder.path.string()); }), Contains("folder"));

  std::string payload(5000, 'x');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * i % 251);
  write_gz(folder / "whole.gz", idx(0x08, {5000}, payload));
  REQUIRE(read_idx(folder / "whole").numel() == 5000);
  const std::string whole = read(folder / "whole.gz");
  for (const std::size_t keep : {whole.size() - 1, whole.size() - 8, whole.size() / 2, std::size_t{12}}) {
    write(folder / "cut.gz", whole.substr(0, keep));
    INFO("kept " << keep);
    REQUIRE_FALSE(error_of([&] { read_idx(folder / "cut"); }).empty());
  }
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 0x10);
  write(folder / "flip.gz", flipped);
  REQUIRE_FALSE(error_of([&] { read_idx(folder / "flip"); }).empty());
}

TEST_CASE("MNIST reads four files and checks that they belong together") {
  const Folder folder;
  write(folder / "train-images-idx3-ubyte", idx(0x08, {2, 1, 2}, std::string("\x00\xff\x33\x66", 4)));
  write_gz(folder / "train-labels-idx1-ubyte.gz", idx(0x08, {2}, std::string("\x07\x02", 2)));
  datasets::MNIST set(folder.path.string());
  REQUIRE(set.size() == 2u);
  REQUIRE(set.images().scalar_type() == kByte);
  REQUIRE(set.images().sizes() == IntArrayRef{2, 1, 1, 2});
  REQUIRE(set.get(0).data.sizes() == IntArrayRef{1, 1, 2});
  REQUIRE(values(set.get(0).data) == List{0, 1});
  REQUIRE(values(set.get(1).data)[1] == Approx(0.4));
  REQUIRE(set.get(1).target.item<std::int64_t>() == 2);
  REQUIRE_THAT(error_of([&] { datasets::MNIST(folder.path.string(), datasets::MNIST::Mode::kTest); }),
               Contains("t10k-images"));
  write_gz(folder / "train-labels-idx1-ubyte.gz", idx(0x08, {3}, "abc"));
  REQUIRE_THAT(error_of([&] { datasets::MNIST(folder.path.string()); }), Contains("uint8[3]"));
}

TEST_CASE("the loader gives every example once, whatever the number of workers") {
  List reference;
  for (const std::size_t workers : {0, 1, 2, 5}) {
    manual_seed(9);
    auto loader = loader_of(50, DataLoaderOptions(8).workers(workers));
    const List first = epoch(*loader), second = epoch(*loader);
    REQUIRE(first.size() == 50);
    REQUIRE(std::set<double>(first.begin(), first.end()).size() == 50);
    REQUIRE(first != second);
    if (reference.empty()) reference = first;
    REQUIRE(first == reference);
    // What the default generator gives next does not depend on the workers either.
    manual_seed(9);
    loader_of(50, DataLoaderOptions(8).workers(workers))->begin();
    const std::uint64_t after = default_generator().state().offset;
    manual_seed(9);
    randperm(50);
    REQUIRE(default_generator().state().offset == after);
  }
}

TEST_CASE("batch sizes: the last one is smaller, or dropped; 0 is refused") {
  for (const std::size_t workers : {0, 2}) {
    auto loader = loader_of<samplers::SequentialSampler>(10, DataLoaderOptions(4).workers(workers));
    std::vector<std::int64_t> sizes;
    for (Example<>& batch : *loader) sizes.push_back(batch.data.size(0));
    REQUIRE(sizes == std::vector<std::int64_t>{4, 4, 2});
    auto dropping =
        loader_of<samplers::SequentialSampler>(10, DataLoaderOptions(4).workers(workers).drop_last(true));
    REQUIRE(epoch(*dropping) == List{0, 1, 2, 3, 4, 5, 6, 7});
    auto none = loader_of(0, DataLoaderOptions(4).workers(workers));
    REQUIRE(epoch(*none).empty());
  }
  REQUIRE_THAT(error_of([] { loader_of(10, DataLoaderOptions(0)); }), Contains("batch_size"));
  REQUIRE_THAT(error_of([] { loader_of(10, DataLoaderOptions(1).max_jobs(0)); }), Contains("max_jobs"));
}

TEST_CASE("an exception comes out where its batch would have, and the loader goes on") {
  for (const std::size_t workers : {0, 3}) {
    auto loader =
        loader_of<samplers::SequentialSampler>(12, DataLoaderOptions(3).workers(workers), /*bad=*/7);
    auto it = loader->begin();
    REQUIRE(values(it->data) == List{0, 1, 2});
    ++it;
    REQUIRE(values(it->data) == List{3, 4, 5});
    REQUIRE_THROWS_WITH(++it, Contains("no example 7"));
    ++it;
    REQUIRE(values(it->data) == List{9, 10, 11});
    ++it;
    REQUIRE(it == loader->end());
  }
}

TEST_CASE("a worker's exception keeps the original") {
  auto loader = loader_of<samplers::SequentialSampler>(2, DataLoaderOptions(1).workers(1), /*bad=*/0);
  try {
    loader->begin();
    FAIL("no exception");
  } catch (const WorkerException& error) {
    CHECK_THAT(error.what(), Contains("worker thread. Original message: no example 0"));
    CHECK_THROWS_WITH(std::rethrow_exception(error.original_exception), "no example 0");
  }
}

TEST_CASE("leaving an epoch early stops cleanly, and the next epoch starts anew") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto loader = loader_of<samplers::SequentialSampler>(100, DataLoaderOptions(2).workers(3).max_jobs(10));
    for (Example<>& batch : *loader) {
      if (batch.data[0].item<double>() >= 2) break;
    }
    if (repeat % 2 == 0) REQUIRE(epoch(*loader).size() == 100);
  }  // destroyed with jobs waiting and running
}

TEST_CASE("a batch that does not come in time is an error") {
  struct Slow : Dataset<Slow> {
    Example<> get(std::size_t) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return {zeros({1}), zeros({1})};
    }
    std::optional<std::size_t> size() const override { return 1; }
  };
  auto loader = make_data_loader(Slow().map(transforms::Stack<>()),
                                 DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(10)));
  REQUIRE_THAT(error_of([&] { loader->begin(); }), Contains("10 ms"));
}

TEST_CASE("each worker has a dataset of its own") {
  static std::atomic<int> clashes{0};  // assertions of Catch2 are for one thread
  struct Counting : Dataset<Counting> {
    Counting() = default;
    Counting(const Counting& other) : Dataset<Counting>(other) {}
    Example<> get(std::size_t i) override {
      clashes += busy.exchange(true) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      busy = false;
      return {full({1}, static_cast<float>(i)), zeros({})};
    }
    std::optional<std::size_t> size() const override { return 60; }
    std::atomic<bool> busy{false};
  };
  auto loader = make_data_loader(Counting().map(transforms::Stack<>()), DataLoaderOptions(3).workers(4));
  std::size_t count = 0;
  for (Example<>& batch : *loader) count += static_cast<std::size_t>(batch.data.size(0));
  REQUIRE(count == 60);
  REQUIRE(clashes == 0);
}

TEST_CASE("transforms are applied in order") {
  const Tensor image = torch::tensor({{{1.0f, 3.0f}}, {{10.0f, 30.0f}}});  // (2, 1, 2)
  transforms::Normalize<> both(1, 2);
  REQUIRE(values(both(image)) == List{0, 1, 4.5, 14.5});
  transforms::Normalize<> each({1, 10}, {2, 20});
  REQUIRE(values(each(image)) == List{0, 1, 0, 1});
  REQUIRE_THAT(error_of([] { transforms::Normalize<>(std::vector<double>{}, {1}); }),
               Contains("at least one"));

  auto dataset = Numbers(4)
                     .map(transforms::TensorLambda<>([](Tensor x) { return x + 1; }))
                     .map(transforms::Lambda<Example<>>([](Example<> e) {
                       e.data = e.data * 2;
                       return e;
                     }))
                     .map(transforms::Stack<>())
                     .map(transforms::BatchLambda<Example<>, Tensor>([](Example<> e) { return e.data; }));
  const std::size_t indices[] = {3, 0};
  REQUIRE(values(dataset.get_batch(indices)) == List{8, 2});
  REQUIRE(dataset.size() == 4u);
}

TEST_CASE("tensor datasets: rows, and whole batches in their own dtype") {
  auto rows =
      datasets::TensorDataset(arange(6, kFloat).reshape({3, 2})).map(transforms::Stack<TensorExample>());
  auto loader = make_data_loader<samplers::SequentialSampler>(rows, 2);
  std::vector<List> seen;
  for (TensorExample& batch : *loader) seen.push_back(values(batch.data));
  REQUIRE(seen == std::vector<List>{{0, 1, 2, 3}, {4, 5}});

  datasets::TensorBatches batches(arange(6, kLong).reshape({3, 2}).to(kByte), torch::tensor({7, 8, 9}));
  const std::size_t indices[] = {2, 0};
  const Example<> batch = batches.get_batch(indices);
  REQUIRE(batch.data.scalar_type() == kByte);
  REQUIRE(values(batch.data) == List{4, 5, 0, 1});
  REQUIRE(values(batch.target) == List{9, 7});
  REQUIRE_THAT(error_of([] {
                 datasets::TensorBatches(zeros({3, 2}), zeros({2}));
               }),
               Contains("same number of rows"));
}

TEST_CASE("samplers") {
  samplers::SequentialSampler sequential(5);
  REQUIRE(sequential.next(3) == std::vector<std::size_t>{0, 1, 2});
  REQUIRE(sequential.next(3) == std::vector<std::size_t>{3, 4});
  REQUIRE_FALSE(sequential.next(3));
  sequential.reset(2);
  REQUIRE(sequential.next(9) == std::vector<std::size_t>{0, 1});
  manual_seed(4);
  samplers::RandomSampler a(20);
  const auto first = a.next(20);
  a.reset();
  REQUIRE(a.next(20) != first);
  manual_seed(4);
  samplers::RandomSampler b(20);
  REQUIRE(b.next(20) == first);
  b.reset(3);
  REQUIRE(b.next(20)->size() == 3);
  REQUIRE(b.index() == 3);
  REQUIRE_THAT(error_of([] { samplers::RandomSampler(-1); }), Contains("negative"));
}

TEST_CASE("distributed samplers share the examples out") {
  using Indices = std::vector<std::size_t>;
  for (const bool duplicates : {true, false}) {
    std::multiset<std::size_t> seen;
    Indices sizes;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      samplers::DistributedRandomSampler sampler(10, 3, rank, duplicates);
      const auto first = sampler.next(100);
      REQUIRE(first);
      seen.insert(first->begin(), first->end());
      sizes.push_back(first->size());
      CHECK(sampler.index() == first->size());
      CHECK_FALSE(sampler.next(1));
      sampler.reset();
      CHECK(sampler.next(100) == first);  // the same epoch
      sampler.set_epoch(1);
      sampler.reset();
      CHECK(sampler.next(100) != first);
    }
    CHECK(sizes == (duplicates ? Indices{4, 4, 4} : Indices{3, 3, 3}));
    CHECK(std::set<std::size_t>(seen.begin(), seen.end()).size() == (duplicates ? 10u : 9u));
  }
  samplers::DistributedSequentialSampler last(10, 3, 2), dropping(10, 3, 2, false);
  CHECK(last.next(3) == Indices{8, 9, 0});
  CHECK(last.next(3) == Indices{1});
  CHECK_FALSE(last.next(3));
  CHECK(dropping.next(9) == Indices{6, 7, 8});
  last.reset(3);
  CHECK(last.next(9) == Indices{2});
  CHECK(samplers::DistributedRandomSampler(0, 2, 1).next(4) == std::nullopt);
  CHECK_THAT(error_of([] { samplers::DistributedSequentialSampler(4, 2, 2); }), Contains("rank"));
  CHECK_THAT(error_of([] { samplers::DistributedRandomSampler(4, 0, 0); }), Contains("num_replicas"));
}

namespace {

/// Hands out numbers in an order of its own.
struct Stream : StreamDataset<Stream, std::vector<int>> {
  std::vector<int> get_batch(std::size_t count) override {
    std::vector<int> batch;
    for (std::size_t i = 0; i < count; ++i) batch.push_back(next++);
    return batch;
  }
  std::optional<std::size_t> size() const override { return std::nullopt; }
  int next = 0;
};

/// Ends after `last` numbers; safe to call from several threads.
struct Counter : StatefulDataset<Counter, std::vector<int>> {
  explicit Counter(int last) : last(last) {}
  Counter(const Counter& other) : StatefulDataset<Counter, std::vector<int>>(other), last(other.last) {}
  std::optional<std::vector<int>> get_batch(std::size_t count) override {
    std::vector<int> batch;
    for (std::size_t i = 0; i < count; ++i) {
      const int number = next++;
      if (number < last) batch.push_back(number);
    }
    return batch.empty() ? std::nullopt : std::optional(batch);
  }
  std::optional<std::size_t> size() const override { return std::nullopt; }
  void reset() override { next = 0; }
  int last;
  std::atomic<int> next{0};
};

struct Doubled : transforms::BatchTransform<std::vector<int>, std::vector<int>> {
  std::vector<int> apply_batch(std::vector<int> batch) override {
    for (int& number : batch) number *= 2;
    return batch;
  }
};

}  // namespace

TEST_CASE("stream datasets") {
  auto loader = make_data_loader(Stream().map(Doubled()), samplers::StreamSampler(5), DataLoaderOptions(2));
  for (const int start : {0, 10}) {  // the stream goes on in the next epoch
    std::vector<int> seen;
    for (auto& batch : *loader) seen.insert(seen.end(), batch.begin(), batch.end());
    REQUIRE(seen == std::vector<int>{start, start + 2, start + 4, start + 6, start + 8});
  }
  auto dropping =
      make_data_loader(Stream(), samplers::StreamSampler(5), DataLoaderOptions(2).drop_last(true));
  std::size_t count = 0;
  for (auto& batch : *dropping) count += batch.size();
  REQUIRE(count == 4);
  REQUIRE_THAT(error_of([] { make_data_loader(Stream()); }), Contains("pass a sampler"));
}

TEST_CASE("stateful datasets end by themselves, and are shared by the workers") {
  for (const std::size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader(Counter(11).map(Doubled()), DataLoaderOptions(2).workers(workers));
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::set<int> seen;
      for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
      REQUIRE(seen.size() == 11);
      REQUIRE(*seen.rbegin() == 20);
      loader->begin();  // left at once
    }
    loader->join();
  }
  auto shared = datasets::make_shared_dataset<Counter>(5);
  auto loader = make_data_loader(shared, DataLoaderOptions(5).workers(2));
  std::size_t count = 0;
  for (auto& batch : *loader) count += batch.size();
  REQUIRE(count == 5);
  REQUIRE(shared->next >= 5);
}

TEST_CASE("without enforced ordering nothing waits for a slow batch") {
  struct Uneven : Dataset<Uneven, int> {
    int get(std::size_t i) override {
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return static_cast<int>(i);
    }
    std::optional<std::size_t> size() const override { return 8; }
  };
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Uneven(), DataLoaderOptions(1).workers(2).max_jobs(8).enforce_ordering(false));
  std::vector<int> seen;
  for (auto& batch : *loader) seen.push_back(batch[0]);
  REQUIRE(seen.size() == 8);
  REQUIRE(seen.front() != 0);
  std::sort(seen.begin(), seen.end());
  REQUIRE(seen == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("batches are prepared while the program works on the last one, and not more than max_jobs") {
  static std::atomic<int> prepared{0};
  prepared = 0;
  struct Counted : Dataset<Counted, int> {
    int get(std::size_t i) override {
      ++prepared;
      return static_cast<int>(i);
    }
    std::optional<std::size_t> size() const override { return 100; }
  };
  auto loader =
      make_data_loader<samplers::SequentialSampler>(Counted(), DataLoaderOptions(1).workers(2).max_jobs(3));
  auto it = loader->begin();
  const auto wait_for = [&](int count) {
    for (int ms = 0; ms < 10000 && prepared < count; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return prepared.load();
  };
  REQUIRE(wait_for(3) == 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(prepared == 3);  // the program has not asked for another one
  ++it;
  REQUIRE(wait_for(4) == 4);
}
