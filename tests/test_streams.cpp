// Saving to and loading from streams, memory and functions; files as Python's safetensors lays them out.

#include <cstring>
#include <sstream>

#include <catch2/catch.hpp>

#include "halftone/amp/grad_scaler.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/io/io.h"
#include "halftone/nn/nn.h"
#include "halftone/optim/optim.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

/// Reads characters that it cannot go back to, as a pipe does.
class Pipe : public std::streambuf {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {}

 protected:
  int_type underflow() override {
    if (at_ == bytes_.size()) return traits_type::eof();
    setg(&bytes_[at_], &bytes_[at_], &bytes_[at_] + 1);
    ++at_;
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

std::string header_bytes(const std::string& header) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header;
}

}  // namespace

TEST_CASE("one stream holds several things, one after another", "[io]") {
  nn::Linear layer(3, 2), copy(3, 2);
  optim::Adam optimizer(layer->parameters());
  layer->weight.sum().backward();
  optimizer.step();
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(8));
  std::stringstream stream;
  save(tensor({1.5, 2.5}), stream);
  save(layer, stream);
  save(optimizer, stream);
  save(scaler, stream);
  save(std::vector<Tensor>{zeros({2, 0}), ones({1}, kHalf)}, stream);

  Tensor first;
  load(first, stream);
  CHECK(values(first) == List{1.5, 2.5});
  load(copy, stream);
  CHECK(equal(copy->weight, layer->weight));
  optim::Adam resumed(copy->parameters());
  load(resumed, stream);
  CHECK(resumed.applied_steps() == 1);
  amp::GradScaler other;
  load(other, stream);
  CHECK(other.get_scale() == 8);
  std::vector<Tensor> list;
  load(list, stream);
  REQUIRE(list.size() == 2);
  CHECK(list[0].sizes() == IntArrayRef({2, 0}));
  CHECK_THAT(error_of([&] { load(first, stream); }), Contains("too short"));
}

TEST_CASE("memory, functions, pipes", "[io]") {
  std::string bytes;
  save(tensor({1, 2, 3}), io::Destination([&](const void* data, std::size_t count) {
         bytes.append(static_cast<const char*>(data), count);
         return count;
       }));
  Tensor back;
  load(back, bytes.data(), bytes.size());
  CHECK(values(back) == List{1, 2, 3});
  Pipe buffer(bytes + bytes);
  std::istream pipe(&buffer);
  load(back, pipe, kCPU);
  load(back, pipe);
  CHECK(values(back) == List{1, 2, 3});
  CHECK_THAT(error_of([&] { load(back, pipe); }), Contains("truncated"));
  CHECK_THAT(error_of([&] { load(back, bytes.data(), bytes.size() - 1); }), Contains("the bytes"));
  CHECK_THAT(error_of([&] { load(back, bytes.data(), 0); }), Contains("too short"));
  CHECK_THAT(error_of([&] {
               save(back, io::Destination([](const void*, std::size_t) -> std::size_t { return 0; }));
             }),
             Contains("took 0"));
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  CHECK_THAT(error_of([&] { save(back, closed); }), Contains("the stream"));
  std::istringstream bad("x");
  bad.setstate(std::ios::failbit);
  CHECK_THAT(error_of([&] { load(back, bad); }), Contains("error state"));

  std::stringstream npy;
  io::save_npy(npy, tensor({1, 2}, kInt));
  io::save_npy(npy, tensor({0.5}));
  CHECK(values(io::load_npy(npy)) == List{1, 2});
  CHECK(values(io::load_npy(npy)) == List{0.5});
}

TEST_CASE("safetensors as Python's library lays them out", "[io]") {
  // safetensors.torch.save_file({"b": bf16 [1.0, -2.0], "h": fp16 [[1.0], [65504.0]], "i": int64 [7]},
  // metadata={"format": "pt"}): larger items first, the header padded with blanks.
  std::string header =
      R"({"__metadata__":{"format":"pt"},"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
      R"("h":{"dtype":"F16","shape":[2,1],"data_offsets":[12,16]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::string data("\7\0\0\0\0\0\0\0\x80\x3f\0\xc0\0\x3c\xff\x7b", 16);
  const std::string bytes = header_bytes(header) + data;
  const io::SafeTensors file = io::load_safetensors(io::Origin(bytes.data(), bytes.size()));
  CHECK(file.metadata.at("format") == "pt");
  CHECK(file.tensors["b"].scalar_type() == kBFloat16);
  CHECK(values(file.tensors["b"].to(kFloat)) == List{1, -2});
  CHECK(file.tensors["h"].scalar_type() == kHalf);
  CHECK(file.tensors["h"].sizes() == IntArrayRef({2, 1}));
  CHECK(values(file.tensors["h"].to(kFloat)) == List{1, 65504});
  CHECK(file.tensors["i"].item<std::int64_t>() == 7);

  std::ostringstream out;
  io::NamedTensors tensors("tensor");
  tensors.insert("b", file.tensors["b"]);
  io::save_safetensors(out, tensors, {{"format", "pt"}});
  CHECK_THAT(out.str(), Contains(R"("b":{"data_offsets":[0,4],"dtype":"BF16","shape":[2]})"));
  CHECK(out.str().substr(out.str().size() - 4) == data.substr(8, 4));
  CHECK(out.str().size() % 8 == 4);  // the data starts aligned
}
