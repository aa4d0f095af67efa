// libtorch's archives, DLPack, and text as tokens.

#include <sstream>

#include <catch2/catch.hpp>

#include "halftone/data/data.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/io/io.h"
#include "halftone/nn/nn.h"
#include "halftone/optim/optim.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/layouts.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

TEST_CASE("archives hold tensors, numbers, texts and archives", "[io]") {
  const TempFolder folder;
  serialize::OutputArchive inner, archive;
  inner.write("x", tensor({1.5, 2.5}));
  inner.write("count", IValue(7));
  archive.write("inner", inner);
  archive.write("rate", IValue(0.1));
  archive.write("on", IValue(true));
  archive.write("note", IValue("a text"));
  archive.write("half", ones({2}, kHalf), /*is_buffer=*/true);
  CHECK_THAT(error_of([&] { archive.write("rate", IValue(1)); }), Contains("already"));
  CHECK_THAT(error_of([&] { archive.write("inner", inner); }), Contains("already"));
  CHECK_THAT(error_of([&] { archive.write("none", Tensor()); }), Contains("undefined"));
  CHECK_THAT(error_of([&] { archive.write("list", IValue(std::vector<std::int64_t>{1})); }),
             Contains("'list'"));
  archive.save_to(folder.file("a.pt"));
  std::stringstream stream;
  archive.save_to(stream);
  std::string bytes;
  archive.save_to([&](const void* data, std::size_t count) {
    bytes.append(static_cast<const char*>(data), count);
    return count;
  });

  serialize::InputArchive from_file, from_stream, from_memory;
  from_file.load_from(folder.file("a.pt"));
  from_stream.load_from(stream, kCPU);
  from_memory.load_from(bytes.data(), bytes.size());
  for (serialize::InputArchive* read : {&from_file, &from_stream, &from_memory}) {
    auto keys = read->keys();
    std::sort(keys.begin(), keys.end());
    CHECK(keys == std::vector<std::string>{"half", "inner", "note", "on", "rate"});
    IValue value;
    read->read("rate", value);
    CHECK(value.toDouble() == 0.1);
    read->read("on", value);
    CHECK(value.toBool());
    read->read("note", value);
    CHECK(value.toStringRef() == "a text");
    CHECK_THAT(error_of([&] { value.toTensor(); }), Contains("not a tensor"));
    serialize::InputArchive nested;
    read->read("inner", nested);
    Tensor fresh, own = zeros({2}), other = zeros({3});
    const Tensor alias = own;
    nested.read("x", fresh);
    nested.read("x", own);
    nested.read("x", other);
    CHECK(values(fresh) == List{1.5, 2.5});
    CHECK(values(alias) == List{1.5, 2.5});  // in place
    CHECK(values(other) == List{1.5, 2.5});
    CHECK_FALSE(read->try_read("missing", fresh));
    CHECK_FALSE(read->try_read("missing", value));
    CHECK_FALSE(read->try_read("missing", nested));
    CHECK_THAT(error_of([&] { read->read("missing", fresh); }), Contains("'missing'"));
    CHECK_THAT(error_of([&] { read->read("rate", fresh); }), Contains("a tensor"));
  }
}

TEST_CASE("modules, optimizers and samplers in archives", "[io]") {
  nn::Linear layer(2, 3), copy(2, 3);
  optim::SGD optimizer(layer->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  layer->weight.sum().backward();
  optimizer.step();
  manual_seed(5);
  data::samplers::RandomSampler sampler(10);
  sampler.next(4);
  data::samplers::DistributedRandomSampler shared(10, 2, 1);
  shared.set_epoch(3);
  shared.reset();
  shared.next(2);
  data::samplers::SequentialSampler sequential(5);
  sequential.next(2);
  data::samplers::StreamSampler stream(5);
  stream.next(3);
  serialize::OutputArchive model, steps, random, distributed, ordered, streamed, archive;
  layer->save(model);
  optimizer.save(steps);
  sampler.save(random);
  shared.save(distributed);
  sequential.save(ordered);
  stream.save(streamed);
  archive.write("model", model);
  archive.write("optimizer", steps);
  archive.write("random", random);
  archive.write("distributed", distributed);
  archive.write("sequential", ordered);
  archive.write("stream", streamed);
  std::stringstream file;
  archive.save_to(file);

  serialize::InputArchive read, part;
  read.load_from(file);
  const auto at = [&](const char* key) -> serialize::InputArchive& {
    read.read(key, part);
    return part;
  };
  copy->load(at("model"));
  CHECK(equal(copy->weight, layer->weight));
  optim::SGD resumed(copy->parameters(), 0.5);
  resumed.load(at("optimizer"));
  CHECK(resumed.applied_steps() == 1);
  CHECK(static_cast<optim::SGDOptions&>(resumed.param_groups()[0].options()).momentum() == 0.9);
  data::samplers::RandomSampler other(3);
  other.load(at("random"));
  CHECK(other.next(10) == sampler.next(10));
  data::samplers::DistributedRandomSampler replica(10, 2, 1);
  replica.load(at("distributed"));
  CHECK(replica.next(10) == shared.next(10));
  CHECK(replica.epoch() == 3);
  data::samplers::SequentialSampler counting(5);
  counting.load(at("sequential"));
  CHECK(counting.next(9) == std::vector<std::size_t>{2, 3, 4});
  data::samplers::StreamSampler left(1);
  left.load(at("stream"));
  CHECK(left.next(9)->size() == 2);
  CHECK_THAT(error_of([&] { copy->load(at("optimizer")); }), Contains("weight"));
}

// --- DLPack
// -----------------------------------------------------------------------------------------------------------
TEST_CASE("DLPack: there and back without a copy", "[io]") {
  for (const ScalarType dtype : kTypes) {
    for (const Tensor& tensor : layouts(dtype)) {
      INFO(concat(tensor));
      const Tensor back = fromDLPack(toDLPack(tensor)), again = fromDLPack(toDLPackVersioned(tensor));
      CHECK(same_bits(back, tensor));
      CHECK(same_bits(again, tensor));
      if (tensor.numel() == 0) continue;
      CHECK(back.data_ptr() == tensor.data_ptr());
      CHECK(back.device() == tensor.device());
    }
  }
  DLManagedTensor* managed = toDLPack(ones({2, 3}, TensorOptions(kBFloat16).device(kCPU)).t());
  CHECK(managed->dl_tensor.dtype.code == kDLBfloat);
  CHECK(managed->dl_tensor.dtype.bits == 16);
  CHECK(managed->dl_tensor.dtype.lanes == 1);
  CHECK(managed->dl_tensor.ndim == 2);
  CHECK(managed->dl_tensor.shape[0] == 3);
  CHECK(managed->dl_tensor.strides[0] == 1);
  CHECK(managed->dl_tensor.strides[1] == 3);
  CHECK(managed->dl_tensor.device.device_type == kDLCPU);
  managed->deleter(managed);  // a consumer that changed its mind
}

namespace {

/// A tensor of a library that counts how often it got it back.
struct Foreign {
  float values[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 2}, strides[2] = {3, 1};
  int returned = 0;
  DLManagedTensorVersioned managed{};

  Foreign() {
    managed.version = {1, 1};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->returned;
    };
    managed.dl_tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, sizeof(float)};
  }
};

}  // namespace

TEST_CASE("DLPack: another library's memory", "[io]") {
  Foreign foreign;
  {
    Tensor tensor = fromDLPack(&foreign.managed);
    CHECK(values(tensor) == List{1, 2, 4, 5});
    const Tensor view = tensor[1];
    tensor.mul_(2);
    CHECK(foreign.values[5] == 10);
    tensor = Tensor();
    CHECK(foreign.returned == 0);  // a view is left
    CHECK(values(view) == List{8, 10});
  }
  CHECK(foreign.returned == 1);

  Foreign constant;
  constant.managed.flags = kDLPackReadOnly;
  const Tensor copy = fromDLPack(&constant.managed);
  CHECK(constant.returned == 1);
  copy.mul_(3);
  CHECK(constant.values[1] == 1);

  Foreign plain;
  plain.managed.dl_tensor.strides = nullptr;
  plain.managed.dl_tensor.byte_offset = 0;
  CHECK(values(fromDLPack(&plain.managed)) == List{0, 1, 2, 3});
}

TEST_CASE("DLPack: what is refused stays the other's", "[io]") {
  const auto message = [](auto change) {
    Foreign foreign;
    change(foreign.managed);
    const std::string text = error_of([&] { fromDLPack(&foreign.managed); });
    return foreign.returned == 0 ? text : "it was taken";
  };
  CHECK_THAT(message([](auto& m) { m.dl_tensor.dtype = {kDLComplex, 64, 1}; }), Contains("code 5"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.dtype.lanes = 4; }), Contains("4 lanes"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.dtype = {kDLInt, 16, 1}; }), Contains("16 bits"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.device.device_type = static_cast<DLDeviceType>(7); }),
             Contains("device type 7"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.device = {kDLCUDA, 99}; }), Contains("CUDA device 99"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.ndim = 9; }), Contains("at most 8"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.shape[0] = -1; }), Contains("size -1"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.strides[0] = -3; }), Contains("negative strides"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.strides[0] = INT64_MAX; }), Contains("impossible stride"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.byte_offset = 1; }), Contains("aligned"));
  CHECK_THAT(message([](auto& m) { m.dl_tensor.data = nullptr; }), Contains("null"));
  CHECK_THAT(message([](auto& m) { m.version.major = 2; }), Contains("version 2.1"));
  CHECK_THAT(error_of([] { fromDLPack(static_cast<DLManagedTensor*>(nullptr)); }), Contains("null"));
  CHECK_THAT(error_of([] { toDLPack(Tensor()); }), Contains("undefined"));
}

// --- Text
// -------------------------------------------------------------------------------------------------------------
TEST_CASE("text by characters and by bytes", "[data]") {
  const std::string text = "na\xc3\xafve \xe2\x82\xac";  // naive with diaeresis, and the euro sign
  const data::CharTokenizer characters(text);
  CHECK(characters.size() == 7);
  CHECK(characters.character(0) == " ");
  CHECK(characters.character(6) == "\xe2\x82\xac");
  const Tensor tokens = characters.encode(text);
  CHECK(values(tokens) == List{3, 1, 5, 4, 2, 0, 6});
  CHECK(characters.decode(tokens) == text);
  CHECK(characters.encode("").sizes() == IntArrayRef({0}));
  CHECK_THAT(error_of([&] { characters.encode("x"); }), Contains("'x'"));
  CHECK_THAT(error_of([&] { characters.decode(tensor({7})); }), Contains("token 7 of 7"));
  CHECK_THAT(error_of([&] { characters.decode(tensor({0.5})); }), Contains("integer"));
  for (const char* bad : {"a\xff", "\xc3", "\xe2\x82", "\x80", "\xc0\x80"}) {
    CHECK_THAT(error_of([&] { data::CharTokenizer{bad}; }), Contains("not UTF-8"));
  }

  const data::ByteTokenizer bytes;
  const std::string any("\0\xff z", 4);
  CHECK(values(bytes.encode(any)) == List{0, 255, 32, 122});
  CHECK(bytes.decode(bytes.encode(any)) == any);
  CHECK_THAT(error_of([&] { bytes.decode(tensor({256})); }), Contains("256"));

  data::datasets::TextDataset set(arange(10), 4, 3);
  CHECK(set.size() == 2u);
  CHECK(values(set.get(1).data) == List{3, 4, 5, 6});
  CHECK(values(set.get(1).target) == List{4, 5, 6, 7});
  CHECK_THAT(error_of([&] { set.get(2); }), Contains("example 2"));
  CHECK_THAT(error_of([] { data::datasets::TextDataset(arange(4), 4); }), Contains("length"));
  CHECK_THAT(error_of([] { data::datasets::TextDataset(zeros({4}), 2); }), Contains("int64"));
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      data::datasets::TextDataset(arange(9), 3).map(data::transforms::Stack<>()), 4);
  CHECK(loader->begin()->data.sizes() == IntArrayRef({4, 3}));

  const TempFolder folder;
  write_bytes(folder.file("a.txt"), text);
  CHECK(data::read_text(folder.file("a.txt")) == text);
  CHECK_THAT(error_of([&] { data::read_text(folder.file("b.txt")); }), Contains("b.txt"));
}
