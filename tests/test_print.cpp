// Tensors as text, in libtorch's layout.

#include <limits>
#include <sstream>

#include <catch2/catch.hpp>

#include "halftone/engine/print.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/device.h"

using namespace halftone;

namespace {

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The text of a tensor on the CPU, as it is on the device of the tests.
std::string here(std::string text) {
  const std::size_t at = text.find("[ CPU");
  return text.replace(at + 2, 3, test::by_device("CPU", "CUDA"));
}

}  // namespace

TEST_CASE("numbers, vectors and matrices print in columns") {
  CHECK(text(tensor(1.5)) == here("1.5\n[ CPUFloatType{} ]"));
  CHECK(text(tensor(7)) == here("7\n[ CPULongType{} ]"));
  CHECK(text(tensor({1, 2, 3})) == here(" 1\n 2\n 3\n[ CPULongType{3} ]"));
  CHECK(text(tensor({true, false})) == here(" 1\n 0\n[ CPUBoolType{2} ]"));
  CHECK(text(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, -6.0}})) ==
        here(" 1  2  3\n 4  5 -6\n[ CPUFloatType{2,3} ]"));
  CHECK(text(tensor({{0.5, -1.25}, {10.0, 0.0}})) ==
        here("  0.5000  -1.2500\n 10.0000   0.0000\n[ CPUFloatType{2,2} ]"));
  CHECK(text(ones({2}, kHalf)) == here(" 1\n 1\n[ CPUHalfType{2} ]"));
  CHECK(text(ones({1}, kBFloat16)) == here(" 1\n[ CPUBFloat16Type{1} ]"));
  CHECK(text(zeros({1, 1}, kDouble)) == here(" 0\n[ CPUDoubleType{1,1} ]"));
}

TEST_CASE("strides do not show") {
  CHECK(text(tensor({{1, 2}, {3, 4}}).t()) == here(" 1  3\n 2  4\n[ CPULongType{2,2} ]"));
}

TEST_CASE("very large and very small values share a factor or an exponent") {
  CHECK(text(tensor({123456.5, 200000.0})) == here("1e+05 *\n 1.2346\n 2.0000\n[ CPUFloatType{2} ]"));
  CHECK(text(tensor({1e-7, 1.0})) == here(" 1.0000e-07\n 1.0000e+00\n[ CPUFloatType{2} ]"));
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(text(tensor({1.0, inf, -inf})) == here(" 1\ninf\n-inf\n[ CPUFloatType{3} ]"));
}

TEST_CASE("more than two dimensions print matrix by matrix") {
  CHECK(text(arange(8).view({2, 2, 2})) ==
        here("(1,.,.) = \n  0  1\n  2  3\n\n(2,.,.) = \n  4  5\n  6  7\n[ CPULongType{2,2,2} ]"));
}

TEST_CASE("wide matrices are cut into blocks of columns") {
  std::ostringstream out;
  print(out, arange(6).view({2, 3}), 6);
  CHECK(out.str() == here("Columns 1 to 2 0  1\n 3  4\n\nColumns 3 to 3 2\n 5\n[ CPULongType{2,3} ]"));
}

TEST_CASE("tensors without elements, and undefined ones") {
  CHECK(text(zeros({0})) == here("[ CPUFloatType{0} ]"));
  CHECK(text(zeros({2, 0, 3})) == here("[ CPUFloatType{2,0,3} ]"));
  CHECK(text(Tensor()) == "[ Tensor (undefined) ]");
}

TEST_CASE("shapes, dtypes and devices print; the stream's own format is left alone") {
  CHECK(text(zeros({2, 3}).sizes()) == "[2, 3]");
  CHECK(text(Dims{}) == "[]");
  CHECK(text(kBFloat16) == "BFloat16");
  CHECK(text(Device("cuda:1")) == "cuda:1");
  std::ostringstream out;
  out.precision(2);
  out << tensor({0.123}) << " " << 0.123;
  CHECK(out.str() == here(" 0.1230\n[ CPUFloatType{1} ] 0.12"));
}

TEST_CASE("tensor() infers shape and dtype") {
  CHECK(tensor({{2.0f}}).sizes() == IntArrayRef({1, 1}));
  CHECK(tensor({2.0f}).sizes() == IntArrayRef({1}));
  CHECK(tensor({}).sizes() == IntArrayRef({0}));
  CHECK(tensor({}).scalar_type() == kFloat);
  CHECK(tensor({{1, 2, 3}, {4, 5, 6}}).sizes() == IntArrayRef({2, 3}));
  CHECK(tensor({1, 2}).scalar_type() == kLong);
  CHECK(tensor({1.0, 2.0}).scalar_type() == kFloat);
  CHECK(tensor({1, 2.5}).scalar_type() == kFloat);
  CHECK(tensor({true}).scalar_type() == kBool);
  CHECK(tensor({Half(1.0f)}).scalar_type() == kHalf);
  CHECK(tensor(std::vector<double>{1, 2}).scalar_type() == kFloat);
  CHECK(tensor(std::vector<double>{0.1}, kDouble).item<double>() == 0.1);
  CHECK(tensor(std::vector<bool>{true, false}).scalar_type() == kBool);
  CHECK(tensor({std::vector<int>{1, 2}, std::vector<int>{3, 4}}).sizes() == IntArrayRef({2, 2}));
  CHECK(tensor((std::int64_t{1} << 60) + 1).item<std::int64_t>() == (std::int64_t{1} << 60) + 1);
  CHECK(tensor({1.0f}, dtype(kHalf).requires_grad(true)).requires_grad());
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), Error);
  CHECK_THROWS_AS(tensor({{{1}}, {{1, 2}}}), Error);
  CHECK_THROWS_AS(tensor({1}, requires_grad(true)), Error);
}
