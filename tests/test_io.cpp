// Files: what is written comes back bit for bit, a damaged or hostile file is an Error, and a failed save
// leaves what was there.

#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <thread>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/io/atomic_file.h"
#include "halftone/io/io.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/layouts.h"
#include "halftone/tests/support/samples.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

/// A safetensors file with this header and so many bytes of data.
std::string file_of(std::string header, std::size_t data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data, '\1');
}

std::string safetensors_error(const std::string& bytes) {
  return error_of_loading(bytes, [](const std::string& path) { io::load_safetensors(path); });
}

}  // namespace

TEST_CASE("safetensors: every dtype, shape and layout comes back bit for bit", "[io]") {
  const TempFolder folder;
  for (const ScalarType dtype : kTypes) {
    io::NamedTensors tensors("tensor");
    for (const Tensor& tensor : layouts(dtype)) tensors.insert("t" + std::to_string(tensors.size()), tensor);
    const std::string path = folder.file("all.safetensors");
    io::save_safetensors(path, tensors, {{"note", "a \"quoted\" \xc3\xa9"}});
    const io::SafeTensors back = io::load_safetensors(path);
    REQUIRE(back.tensors.size() == tensors.size());
    CHECK(back.metadata.at("note") == "a \"quoted\" \xc3\xa9");
    for (const auto& item : tensors) {
      const Tensor& tensor = back.tensors[item.key()];
      INFO(item.key() << " of " << dtype_name(dtype));
      CHECK(tensor.is_contiguous());
      CHECK(same_bits(tensor, item.value()));
    }
  }
}

TEST_CASE("safetensors: NaN payloads, signs of zero and subnormals survive", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("nan.safetensors");
  std::vector<std::uint32_t> floats{0x7fa00001, 0xffc12345, 0x80000000, 0x00000001, 0x7f800000};
  std::vector<std::uint64_t> doubles{0x7ff0000000000001, 0xfff8000000abcdef, 0x8000000000000000, 1};
  std::vector<std::uint16_t> halves{0x7d01, 0xfe01, 0x8000, 0x0001, 0x7fa1};
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const std::vector<Tensor> tensors{
      from_blob(floats.data(), {size(floats)}, kFloat), from_blob(doubles.data(), {size(doubles)}, kDouble),
      from_blob(halves.data(), {size(halves)}, kHalf), from_blob(halves.data(), {size(halves)}, kBFloat16)};
  save(tensors, path);
  std::vector<Tensor> back;
  load(back, path);
  REQUIRE(back.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(std::memcmp(back[i].cpu().data_ptr(), tensors[i].data_ptr(), tensors[i].nbytes()) == 0);
}

TEST_CASE("safetensors: the bytes are the format's", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  io::NamedTensors tensors("tensor");
  tensors.insert("b", tensor({1, 2}, kByte));
  tensors.insert("a", tensor({1.0}, kFloat));
  io::save_safetensors(path, tensors, {{"k", "v"}});
  const std::string bytes = read_bytes(path);
  CHECK(static_cast<unsigned char>(bytes[0]) % 8 == 0);  // the data starts aligned
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[2,6],"dtype":"F32","shape":[1]},)"
                       R"("b":{"data_offsets":[0,2],"dtype":"U8","shape":[2]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  CHECK(bytes == file_of(header, 0) + std::string("\1\2\0\0\x80\x3f", 6));
  // And what other writers produce: other order, spaces, no metadata.
  write_bytes(path, file_of(R"({ "w" : {"shape":[2,1], "dtype":"I32", "data_offsets":[0,8]} }   )", 8));
  const io::SafeTensors back = io::load_safetensors(path);
  CHECK(values(back.tensors["w"]) == List{0x01010101, 0x01010101});
  CHECK(safetensors_error(file_of("{}", 0)).empty());
}

TEST_CASE("safetensors: a file cut anywhere, or too long, is an Error and nothing is loaded", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("model.safetensors");
  nn::Sequential model(nn::Linear(3, 2), nn::BatchNorm1d(2));
  save(model, path);
  const std::string bytes = read_bytes(path);
  nn::Sequential other(nn::Linear(3, 2), nn::BatchNorm1d(2));
  const Tensor before = other->parameters()[0].clone();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write_bytes(path, bytes.substr(0, length));
    INFO("length " << length << " of " << bytes.size());
    const std::string text = error_of([&] { load(other, path); });
    CHECK_THAT(text, Contains(path));
  }
  write_bytes(path, bytes + '\0');
  CHECK_THAT(error_of([&] { load(other, path); }), Contains("bytes of data"));
  CHECK(same_bits(before, other->parameters()[0].detach()));
  write_bytes(path, bytes);
  load(other, path);
  CHECK(same_bits(model->parameters()[0].detach(), other->parameters()[0].detach()));
}

TEST_CASE("safetensors: hostile headers are Errors that say what is wrong", "[io]") {
  const std::string huge("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
  CHECK_THAT(safetensors_error(huge), Contains("18446744073709551615"));
  CHECK_THAT(safetensors_error(std::string("\0\0\0\0\0\0\0\0", 8)), Contains("not a JSON object"));
  struct Case {
    const char* header;
    std::size_t data;
    const char* expected;
  };
  const Case cases[] = {
      {"[]", 0, "not a JSON object"},
      {"{", 0, "damaged header"},
      {"{\"a\":\xff}", 0, "damaged header"},
      {"{\"a\xff\":1}", 0, "damaged header"},
      {"{} {}", 0, "damaged header"},
      {"{\"a\":[[[[[[[[1]]]]]]]]}", 0, "nested"},
      {R"({"__metadata__":3})", 0, "not an object"},
      {R"({"__metadata__":{"a":3}})", 0, "'a' is not a text"},
      {R"({"__metadata__":{"a":"x","a":"y"}})", 0, "occurs twice"},
      {R"({"a":3})", 0, "needs dtype"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 0, "needs dtype"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "needs dtype"},
      {R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1, "F8_E4M3"},
      {R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4, "not supported"},
      {R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4, "not supported"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "shape [-1]"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, "at most 8"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":[99999999999999999999999],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "64 bits"},
      {R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0, "64 bits"},
      // Two to the 62nd floats have zero bytes modulo 2^64.
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0, "has 0 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "has 4 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}})", 5, "has 5 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "outside the file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "outside the file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 8, "data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551616]}})", 4,
       "data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "gap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "describes 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
       6, "overlaps"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "overlaps"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})",
       10, "gap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "'a' occurs twice"},
  };
  for (const Case& item : cases) {
    INFO(item.header);
    CHECK_THAT(safetensors_error(file_of(item.header, item.data)), Contains(item.expected));
  }
  std::string bools = file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  CHECK(safetensors_error(bools).empty());
  bools.back() = '\2';
  CHECK_THAT(safetensors_error(bools), Contains("holds the byte 2"));
}

TEST_CASE("safetensors: any one byte of the header changed loads or is an Error, nothing worse", "[io]") {
  const std::string good =
      file_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 12);
  const TempFolder folder;
  const std::string path = folder.file("x");
  int errors = 0;
  for (std::size_t at = 0; at < good.size() - 12; ++at) {
    for (const char c : {'\0', '"', '0', '9', '-', '{', '}', '[', ']', ',', '\\', '\x80', '\xff'}) {
      std::string bytes = good;
      bytes[at] = c;
      write_bytes(path, bytes);
      errors += !error_of([&] { io::load_safetensors(path); }).empty();
    }
  }
  CHECK(errors > 500);
}

TEST_CASE("saving refuses what cannot be saved, and touches no file", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("x");
  write_bytes(path, "before");
  CHECK_THAT(error_of([&] { save(Tensor(), path); }), Contains("undefined"));
  io::NamedTensors tensors("tensor");
  tensors.insert("\xff", ones({1}));
  CHECK_THAT(error_of([&] { io::save_safetensors(path, tensors); }), Contains("UTF-8"));
  CHECK_FALSE(error_of([&] { io::save_npy(path, Tensor()); }).empty());
  CHECK_THAT(error_of([&] { io::save_npy(path, ones({1}, kBFloat16)); }), Contains("bfloat16"));
  CHECK_THAT(error_of([&] { save(std::shared_ptr<nn::LinearImpl>(), path); }), Contains("null"));
  CHECK_FALSE(error_of([&] { save(nn::Linear(nullptr), path); }).empty());
  CHECK(read_bytes(path) == "before");
  CHECK(folder.count() == 1);
}

TEST_CASE("a save that fails leaves the old file and nothing else", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("x");
  save(ones({2}), path);
  const std::string before = read_bytes(path);

  // The device is full after 100000 bytes.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = error_of([&] { save(ones({100000}), path); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(text, Contains(path) && Contains("cannot"));
  CHECK(read_bytes(path) == before);
  CHECK(folder.count() == 1);

  if (geteuid() != 0) {  // root may write everywhere
    const std::filesystem::path place = std::filesystem::path(path).parent_path();
    std::filesystem::permissions(place, std::filesystem::perms(0555));
    CHECK_THAT(error_of([&] { save(ones({3}), path); }), Contains("cannot create"));
    std::filesystem::permissions(place, std::filesystem::perms(0755));
    CHECK(read_bytes(path) == before);
  }
  CHECK_THAT(error_of([&] { save(ones({3}), folder.file("no/such/folder")); }), Contains("cannot create"));
  CHECK_THAT(error_of([&] { save(ones({3}), path + "/below"); }), Contains("cannot create"));
  std::filesystem::create_directories(folder.file("taken/inside"));
  CHECK_THAT(error_of([&] { save(ones({3}), folder.file("taken")); }), Contains("cannot rename"));
  CHECK(folder.count() == 2);
  {
    io::AtomicFile abandoned(path);
    abandoned.write("xyz", 3);
  }
  CHECK(read_bytes(path) == before);
  CHECK(folder.count() == 2);
}

TEST_CASE("a save replaces the file in one move, also through a link and from many threads", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("x"), link = folder.file("link");
  save(zeros({2}), path);
  std::filesystem::create_symlink(path, link);
  save(ones({2}), link);
  CHECK(std::filesystem::is_symlink(link));
  Tensor back;
  load(back, path);
  CHECK(values(back) == List{1, 1});

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) save(full({1000}, t), path);
    });
  }
  for (std::thread& thread : threads) thread.join();
  load(back, path);
  CHECK(values(back) == List(1000, values(back)[0]));
  CHECK(folder.count() == 2);
}

TEST_CASE("reading what is not there, a folder, or another kind of file", "[io]") {
  const TempFolder folder;
  Tensor kept = ones({1});
  CHECK_THAT(error_of([&] { load(kept, folder.file("missing")); }), Contains("no such file"));
  CHECK_THAT(error_of([&] { load(kept, folder.file("")); }), Contains("no such file"));
  const std::string path = folder.file("two");
  save(std::vector<Tensor>{ones({1}), ones({2})}, path);
  CHECK_THAT(error_of([&] { load(kept, path); }), Contains("holds 2"));
  save(nn::Linear(1, 1), path);
  CHECK_THAT(error_of([&] { load(kept, path); }), Contains("not a list of tensors"));
  CHECK(values(kept) == List{1});
  std::vector<Tensor> list{kept};
  save(list, path);
  load(list, path);  // libtorch appends
  CHECK(list.size() == 2);
}

TEST_CASE("modules: names and shapes are checked before anything is copied", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("m");
  const auto filled = [](nn::Linear layer, double value) {
    NoGradGuard no_grad;
    for (Tensor& parameter : layer->parameters()) parameter.fill_(value);
    return layer;
  };
  const auto refused = [&](const char* expected) {
    nn::Linear layer = filled(nn::Linear(3, 2), 7);
    CHECK_THAT(error_of([&] { load(layer, path); }), Contains(expected) && Contains(path));
    for (const Tensor& parameter : layer->parameters()) CHECK(values(parameter)[0] == 7);
  };
  save(nn::Linear(nn::LinearOptions(3, 2).bias(false)), path);
  refused("'bias'");
  save(nn::Linear(3, 5), path);
  refused("weight");
  save(nn::Sequential(nn::Linear(3, 2)), path);
  refused("weight");
  io::NamedTensors more = filled(nn::Linear(3, 2), 1)->state_dict();
  more.insert("extra", ones({1}));
  io::save_safetensors(path, more);
  refused("'extra'");
  io::NamedTensors integers("tensor");
  integers.insert("weight", ones({2, 3}, kLong));
  integers.insert("bias", ones({2}));
  io::save_safetensors(path, integers);
  refused("weight");

  nn::Linear original = filled(nn::Linear(3, 2), 3), copy = filled(nn::Linear(3, 2), 4);
  save(original, path);
  std::shared_ptr<nn::LinearImpl> pointer = copy.ptr();
  load(pointer, path);
  CHECK(values(copy->weight) == List(6, 3.0));
  CHECK(copy->weight.requires_grad());
}

TEST_CASE("state dictionaries: numbers come back exactly", "[io]") {
  const TempFolder folder;
  const std::string path = folder.file("state");
  StateDict state;
  const double doubles[] = {0.1, -0.0, 1e-320, 1.7976931348623157e308, 65536, 1.0 / 3, INFINITY, -INFINITY};
  for (std::size_t i = 0; i < std::size(doubles); ++i) state.set("d" + std::to_string(i), doubles[i]);
  state.set("nan", std::nan(""));
  state.set("min", std::numeric_limits<std::int64_t>::min());
  state.set("max", std::numeric_limits<std::int64_t>::max());
  state.set("yes", true);
  state.set("no", false);
  state.set("text", std::string("int:3 \n \xe2\x82\xac"));
  state.set("empty", std::string());
  state.set("format", std::string("pt"));
  state.set("tensor", pattern({2, 3}, kDouble));
  io::save_state(path, state);
  const StateDict back = io::load_state(path);
  CHECK(back.size() == state.size());
  for (std::size_t i = 0; i < std::size(doubles); ++i)
    CHECK(std::bit_cast<std::uint64_t>(back.number("d" + std::to_string(i))) ==
          std::bit_cast<std::uint64_t>(doubles[i]));
  CHECK(std::isnan(back.number("nan")));
  CHECK(back.integer("min") == std::numeric_limits<std::int64_t>::min());
  CHECK(back.integer("max") == std::numeric_limits<std::int64_t>::max());
  CHECK(back.boolean("yes"));
  CHECK_FALSE(back.boolean("no"));
  CHECK(back.text("text") == state.text("text"));
  CHECK(back.text("empty").empty());
  CHECK(back.text("format") == "pt");
  CHECK(same_bits(back.tensor("tensor"), state.tensor("tensor")));

  for (const char* text : {"int:", "int:1x", "int:99999999999999999999", "number:", "number:1.5 ", "bool:yes",
                           "3", "", "float:1"}) {
    INFO(text);
    io::save_safetensors(path, io::NamedTensors("tensor"), {{"x", text}});
    CHECK_THAT(error_of([&] { io::load_state(path); }), Contains("'x'") && Contains(path));
  }
  io::NamedTensors both("tensor");
  both.insert("x", ones({1}));
  io::save_safetensors(path, both, {{"x", "int:1"}});
  CHECK_THAT(error_of([&] { io::load_state(path); }), Contains("twice"));
}
