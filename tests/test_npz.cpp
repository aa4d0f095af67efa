// NumPy's .npz archives, and the ZIP files they are.

#include <sstream>

#include <catch2/catch.hpp>

#include "halftone/engine/tensor_factory.h"
#include "halftone/io/npz.h"
#include "halftone/io/zip.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/layouts.h"
#include "halftone/tests/support/recorded.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

std::string npz_error(const std::string& bytes) {
  return error_of_loading(bytes, [](const std::string& path) { io::load_npz(path); });
}

std::string npz_bytes(const io::NamedTensors& tensors, bool compressed) {
  std::ostringstream out;
  io::save_npz(out, tensors, compressed);
  return out.str();
}

io::NamedTensors of_one(const std::string& name, const Tensor& tensor) {
  io::NamedTensors tensors("tensor");
  tensors.insert(name, tensor);
  return tensors;
}

}  // namespace

TEST_CASE("npz: NumPy's files, stored and deflated", "[io][npy]") {
  for (const char* name : {"numpy_stored.npz", "numpy_deflated.npz"}) {
    const io::NamedTensors tensors = io::load_npz(recorded_path(name));
    CHECK(tensors.keys() == std::vector<std::string>{"weight", "layer.bias", "labels", "mask", "columns"});
    CHECK(equal(tensors["weight"], arange(12, kCPU).to(kFloat).view({3, 4}) / 8));
    CHECK(equal(tensors["layer.bias"], full({100}, 0.25, TensorOptions(kHalf).device(kCPU))));
    CHECK(equal(tensors["labels"], tensor({3, -1, 4}, kLong).cpu()));
    CHECK(equal(tensors["mask"], tensor({{true, false}, {false, true}}).cpu()));
    CHECK(equal(tensors["columns"], arange(6, kCPU).to(kDouble).view({2, 3})));
    CHECK(tensors["columns"].is_contiguous());
  }
}

TEST_CASE("npz: every dtype, shape and layout comes back bit for bit", "[io][npy]") {
  const TempFolder folder;
  for (const bool compressed : {false, true}) {
    for (const ScalarType dtype : kTypes) {
      if (dtype == kBFloat16) continue;
      io::NamedTensors tensors("tensor");
      for (const Tensor& tensor : layouts(dtype)) {
        tensors.insert("a/b." + std::to_string(tensors.size()), tensor);
      }
      io::save_npz(folder.file("x.npz"), tensors, compressed);
      const io::NamedTensors back = io::load_npz(folder.file("x.npz"));
      REQUIRE(back.keys() == tensors.keys());
      for (const auto& item : tensors) CHECK(same_bits(back[item.key()], item.value().contiguous()));
    }
  }
  write_bytes(folder.file("empty.npz"), npz_bytes(io::NamedTensors("tensor"), false));
  CHECK(io::load_npz(folder.file("empty.npz")).is_empty());
}

TEST_CASE("npz: compressing makes it smaller, and equal tensors make equal files", "[io][npy]") {
  const io::NamedTensors tensors = of_one("x", zeros({1000}));
  const std::string stored = npz_bytes(tensors, false), deflated = npz_bytes(tensors, true);
  CHECK(deflated.size() * 10 < stored.size());
  CHECK(npz_bytes(tensors, true) == deflated);
}

TEST_CASE("npz: damaged archives", "[io][npy]") {
  const std::string good = npz_bytes(of_one("x", arange(100).to(kFloat)), false);
  CHECK_THAT(npz_error(""), Contains("not a ZIP archive"));
  CHECK_THAT(npz_error("PK\3\4 and no more of it than this"), Contains("not a ZIP archive"));
  for (std::size_t cut = 1; cut < good.size(); cut += 7) {
    CHECK_FALSE(npz_error(good.substr(0, good.size() - cut)).empty());
  }
  std::string changed = good;
  changed[300] = static_cast<char>(changed[300] ^ 1);  // in the data
  CHECK_THAT(npz_error(changed), Contains("checksum"));
  std::string packed = npz_bytes(of_one("x", zeros({1000})), true);
  for (std::size_t i = 60; i < 100; ++i) packed[i] = static_cast<char>(~packed[i]);
  CHECK_THAT(npz_error(packed), Contains("'x.npy'"));
  const auto at = good.rfind("PK\1\2");
  changed = good;
  changed[at + 10] = 12;  // bzip2
  CHECK_THAT(npz_error(changed), Contains("method 12"));
  changed = good;
  changed[at + 8] = 1;
  CHECK_THAT(npz_error(changed), Contains("encrypted"));
  changed = good;
  changed[at + 42] = 77;  // where the member stands
  CHECK_FALSE(npz_error(changed).empty());

  std::ostringstream other;
  io::write_zip(other, {{"notes.txt", "hello"}}, false);
  CHECK_THAT(npz_error(other.str()), Contains("not a .npy file"));
  std::ostringstream broken;
  io::write_zip(broken, {{"x.npy", "hello"}}, false);
  CHECK_THAT(npz_error(broken.str()), Contains("member 'x.npy'"));

  CHECK_THAT(error_of([] { npz_bytes(of_one("x", zeros({2}, kBFloat16)), false); }), Contains("bfloat16"));
  CHECK_THAT(error_of([] { npz_bytes(of_one("", zeros({2})), false); }), Contains("no name"));
  CHECK_THAT(error_of([] { npz_bytes(of_one("x", Tensor()), false); }), Contains("undefined"));
}
