// Pointwise operators: hand-checked values, type promotion, integers, NaN and infinities, in place, and low
// precision.

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/device.h"

using namespace halftone;

namespace {

using List = std::vector<double>;
using Catch::Matchers::Contains;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

List values(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(kCPU, kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

/// `numbers` in `dtype`, requiring grad.
Tensor leaf(const List& numbers, ScalarType dtype = kFloat) {
  Tensor out = tensor(numbers).to(dtype);
  out.requires_grad_();
  return out;
}

/// The gradient of sum(f(x)) at `numbers`.
template <class F>
List slope(F f, const List& numbers, ScalarType dtype = kDouble) {
  const Tensor x = leaf(numbers, dtype);
  f(x).to(kDouble).sum().backward();
  return values(x.grad());
}

ScalarType sum_type(const Tensor& a, const Tensor& b) { return (a + b).scalar_type(); }

void check_close(const List& got, const List& expected, double tolerance = 1e-6) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(tolerance));
}

}  // namespace

// --- Type promotion: PyTorch's rules
// ----------------------------------------------------------------------------

TEST_CASE("two tensors of the same kind of rank promote along the lattice") {
  const ScalarType order[] = {kBool, kByte, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};
  constexpr ScalarType kExpected[8][8] = {
      // bool      uint8      int32      int64      float16    bfloat16   float32  float64
      {kBool, kByte, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble},
      {kByte, kByte, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble},
      {kInt, kInt, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble},
      {kLong, kLong, kLong, kLong, kHalf, kBFloat16, kFloat, kDouble},
      {kHalf, kHalf, kHalf, kHalf, kHalf, kFloat, kFloat, kDouble},
      {kBFloat16, kBFloat16, kBFloat16, kBFloat16, kFloat, kBFloat16, kFloat, kDouble},
      {kFloat, kFloat, kFloat, kFloat, kFloat, kFloat, kFloat, kDouble},
      {kDouble, kDouble, kDouble, kDouble, kDouble, kDouble, kDouble, kDouble},
  };
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      INFO(dtype_name(order[i]) << " + " << dtype_name(order[j]));
      CHECK(sum_type(ones({2}, order[i]), ones({2}, order[j])) == kExpected[i][j]);
      CHECK(sum_type(ones({}, order[i]), ones({}, order[j])) == kExpected[i][j]);
    }
  }
}

TEST_CASE("0-d tensors and numbers widen only to a higher kind") {
  const Tensor half = ones({2}, kHalf), integer = ones({2}, kInt), flag = ones({2}, kBool),
               single = ones({2});
  CHECK(sum_type(half, ones({}, kDouble)) == kHalf);
  CHECK(sum_type(single, ones({}, kDouble)) == kFloat);
  CHECK(sum_type(integer, ones({}, kLong)) == kInt);
  CHECK(sum_type(integer, ones({}, kDouble)) == kDouble);
  CHECK(sum_type(integer, ones({}, kHalf)) == kHalf);
  CHECK(sum_type(flag, ones({}, kLong)) == kLong);

  CHECK((half + 1.5).scalar_type() == kHalf);
  CHECK((half * 2).scalar_type() == kHalf);
  CHECK((integer + 1).scalar_type() == kInt);
  CHECK((integer + 1.5).scalar_type() == kFloat);
  CHECK((flag + 1).scalar_type() == kLong);
  CHECK((flag + true).scalar_type() == kBool);
  CHECK((flag * 1.0).scalar_type() == kFloat);
  CHECK((ones({}, kHalf) + 1.5).scalar_type() == kHalf);
  CHECK((ones({}, kInt) + 1.5).scalar_type() == kFloat);
  CHECK((1.0 / ones({2}, kDouble)).scalar_type() == kDouble);
}

TEST_CASE("a number is used exactly, not rounded to its partner's dtype") {
  // 0.1 in bfloat16 is 0.10009765625; 3 * 0.1 rounded once is 0.30078125 in bfloat16, 0.0999755859375 * 3 in
  // float16 is not.
  const Tensor x = full({1}, 3, kBFloat16);
  CHECK((x * 0.1).item<float>() == static_cast<float>(BFloat16(0.3f)));
  CHECK((full({1}, 1e8, kDouble) + 1e-8).item<double>() == 1e8 + 1e-8);
  CHECK((full({1}, std::int64_t{9007199254740993}) + 1).item<std::int64_t>() == 9007199254740994);
}

// --- Arithmetic
// -------------------------------------------------------------------------------------------------

TEST_CASE("addition, subtraction, multiplication and division broadcast") {
  const Tensor a = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), b = tensor({10.0, 20.0, 30.0});
  CHECK(values(a + b) == List{11, 22, 33, 14, 25, 36});
  CHECK(values(add(a, b, 0.5)) == List{6, 12, 18, 9, 15, 21});
  CHECK(values(b - a) == List{9, 18, 27, 6, 15, 24});
  CHECK(values(sub(a, 1, 2)) == List{-1, 0, 1, 2, 3, 4});
  CHECK(values(10 - a) == List{9, 8, 7, 6, 5, 4});
  CHECK(values(rsub(a, a, 2)) == List{-1, -2, -3, -4, -5, -6});
  CHECK(values(a * a.select(0, 1).unsqueeze(0)) == List{4, 10, 18, 16, 25, 36});
  CHECK(values(a / 2) == List{0.5, 1, 1.5, 2, 2.5, 3});
  check_close(values(6 / a), {6, 3, 2, 1.5, 1.2, 1});
  CHECK_THROWS_WITH(a + ones({2}), Contains("[2, 3] and [2]"));
  CHECK_THROWS_WITH(add(ones({2}, kLong), ones({2}, kLong), 0.5), Contains("alpha"));
  CHECK_THROWS_WITH(ones({2}, kBool) - ones({2}, kBool), Contains("logical_xor"));
  CHECK((ones({0, 3}) + ones({3})).sizes() == IntArrayRef({0, 3}));
  CHECK_THROWS_AS(a + Tensor(), Error);
}

TEST_CASE("integer division is true division, floors on request, and refuses zero") {
  const Tensor a = tensor({7, -7, 6}), b = tensor({2, 2, -4});
  CHECK((a / b).scalar_type() == kFloat);
  CHECK(values(a / b) == List{3.5, -3.5, -1.5});
  CHECK(values(floor_divide(a, b)) == List{3, -4, -2});
  CHECK(floor_divide(a, b).scalar_type() == kLong);
  CHECK(values(div(a, b, "trunc")) == List{3, -3, -1});
  CHECK(values(div(a, b, "floor")) == List{3, -4, -2});
  CHECK(values(remainder(a, b)) == List{1, 1, -2});
  CHECK(values(fmod(a, b)) == List{1, -1, 2});
  CHECK(values(a % 4) == List{3, 1, 2});
  CHECK_THROWS_WITH(floor_divide(a, 0), Contains("division by zero"));
  CHECK_THROWS_WITH(test::finish([&] { remainder(a, tensor({1, 0, 1})); }), Contains("division by zero"));
  CHECK_THROWS_WITH(fmod(a, 0), Contains("division by zero"));
  CHECK_THROWS_AS(div(a, b, "round"), Error);
  CHECK(values(a / 0) == List{kInf, -kInf, kInf});
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  CHECK(floor_divide(full({1}, lowest), -1).item<std::int64_t>() == lowest);  // wraps, no trap
  Tensor c = a.clone();
  CHECK_THROWS_WITH(c.div_(2), Contains("in place"));
}

TEST_CASE("floating remainders follow the sign of the divisor or of the dividend") {
  const Tensor a = tensor({5.5, -5.5, 5.5}), b = tensor({2.0, 2.0, -2.0});
  CHECK(values(remainder(a, b)) == List{1.5, 0.5, -0.5});
  CHECK(values(fmod(a, b)) == List{1.5, -1.5, 1.5});
  CHECK(values(floor_divide(a, b)) == List{2, -3, -3});
  CHECK(values(div(a, b, "trunc")) == List{2, -2, -2});
  CHECK(std::isnan(values(remainder(a, 0.0))[0]));
}

TEST_CASE("pow") {
  CHECK(values(pow(tensor({-2.0, 0.0, 3.0}), 2)) == List{4, 0, 9});
  CHECK(values(pow(tensor({4.0, 2.0}), tensor({0.5, -1.0}))) == List{2, 0.5});
  CHECK(values(pow(2, tensor({0.0, 3.0, -1.0}))) == List{1, 8, 0.5});
  CHECK(std::isnan(values(pow(tensor({-8.0}), 1.0 / 3))[0]));
  CHECK(values(pow(tensor({2, -3}), 3)) == List{8, -27});
  CHECK(pow(tensor({2}), 3).scalar_type() == kLong);
  CHECK(pow(tensor({2}), 0.5).scalar_type() == kFloat);
  CHECK_THROWS_WITH(pow(tensor({2}), -1), Contains("negative powers"));
  check_close(slope([](const Tensor& x) { return pow(x, 3); }, {-2, 0, 1.5}), {12, 0, 6.75});
  CHECK(slope([](const Tensor& x) { return pow(x, 0); }, {0, 2}) == List{0, 0});
  CHECK(slope([](const Tensor& x) { return pow(x, 1); }, {0, 2}) == List{1, 1});
  check_close(slope([](const Tensor& x) { return pow(2.0, x); }, {3}), {8 * std::log(2.0)});
  CHECK(slope([](const Tensor& x) { return pow(0.0, x); }, {2}) == List{0});
}

TEST_CASE("maximum and minimum: NaN wins, ties share the gradient") {
  const Tensor a = tensor({1.0, 5.0, kNan}), b = tensor({2.0, 3.0, 0.0});
  CHECK(values(maximum(a, b))[0] == 2);
  CHECK(std::isnan(values(maximum(a, b))[2]));
  CHECK(std::isnan(values(minimum(b, a))[2]));
  const Tensor x = leaf({1, 2, 3}), y = leaf({1, 3, 2});
  maximum(x, y).sum().backward();
  CHECK(values(x.grad()) == List{0.5, 0, 1});
  CHECK(values(y.grad()) == List{0.5, 1, 0});
}

TEST_CASE("lerp, addcmul, addcdiv and atan2") {
  CHECK(values(lerp(tensor({0.0, 10.0}), tensor({10.0, 20.0}), 0.25)) == List{2.5, 12.5});
  CHECK(values(lerp(tensor({1.1f}), tensor({3.3f}), 1.0)) == values(tensor({3.3f})));
  CHECK(values(addcmul(tensor({1.0}), tensor({2.0}), tensor({3.0}), 0.5)) == List{4});
  CHECK(values(addcdiv(tensor({1.0}), tensor({3.0}), tensor({2.0}), 2)) == List{4});
  check_close(values(atan2(tensor({1.0, -1.0, 0.0}), tensor({-1.0, 0.0, -1.0}))),
              {2.35619449, -1.57079633, 3.14159265});
  CHECK(addcdiv(tensor({1}), tensor({3}), tensor({2})).scalar_type() == kFloat);
}

TEST_CASE("gradients are summed over what broadcasting repeated, in fp32") {
  Tensor bias = zeros({1}, kHalf);
  bias.requires_grad_();
  // 4096 gradients of 1: added one by one in fp16 they would stop at 2048.
  (ones({4096}, kHalf) + bias).to(kFloat).sum().backward();
  CHECK(bias.grad().item<float>() == 4096);
}

TEST_CASE("one rounding: scaled products and quotients in float16") {
  // 1 + 2^-11 is not a float16: adding it in two steps would lose it.
  const Tensor one = ones({1}, kHalf);
  CHECK(addcmul(one, full({1}, 1.0009765625, kHalf), full({1}, 0.5, kHalf), 1).item<float>() == 1.5f);
  CHECK(addcmul(full({1}, -60000, kHalf), full({1}, 300, kHalf), full({1}, 300, kHalf)).item<float>() ==
        30000.0f);
  const List grads = slope([](const Tensor& x) { return div(ones({1}, kHalf), x); }, {0.004}, kHalf);
  const double x = static_cast<float>(Half(0.004f));
  CHECK(grads[0] == static_cast<float>(Half(static_cast<float>(-1 / (x * x)))));
}

// --- Unary
// ------------------------------------------------------------------------------------------------------

TEST_CASE("unary functions: values") {
  CHECK(values(neg(tensor({1.0, -2.0}))) == List{-1, 2});
  CHECK(values(abs(tensor({1, -2}))) == List{1, 2});
  CHECK(values(sign(tensor({-3.0, 0.0, 2.0, kNan}))) == List{-1, 0, 1, 0});
  CHECK(values(square(tensor({3, -4}))) == List{9, 16});
  CHECK(square(tensor({3})).scalar_type() == kLong);
  CHECK(values(sqrt(tensor({4, 9}))) == List{2, 3});
  CHECK(values(rsqrt(tensor({4.0, 0.0}))) == List{0.5, kInf});
  CHECK(values(reciprocal(tensor({4}))) == List{0.25});
  CHECK(values(exp2(tensor({3.0, -1.0}))) == List{8, 0.5});
  CHECK(values(log2(tensor({8.0, 0.0}))) == List{3, -kInf});
  CHECK(std::isnan(values(log(tensor({-1.0})))[0]));
  check_close(values(expm1(tensor({1e-10}, kDouble))), {1e-10}, 1e-20);
  check_close(values(log1p(tensor({1e-10}, kDouble))), {1e-10}, 1e-20);
  check_close(values(erf(tensor({0.5}))), {0.520499878});
  check_close(values(erfc(tensor({0.5}))), {0.479500122});
  CHECK(values(floor(tensor({-1.5, 1.5}))) == List{-2, 1});
  CHECK(values(ceil(tensor({-1.5, 1.5}))) == List{-1, 2});
  CHECK(values(trunc(tensor({-1.5, 1.5}))) == List{-1, 1});
  CHECK(values(round(tensor({0.5, 1.5, 2.5, -0.5}))) == List{0, 2, 2, 0});
  CHECK(values(frac(tensor({-1.25, 2.5}))) == List{-0.25, 0.5});
  CHECK(values(floor(tensor({3}))) == List{3});
  CHECK_THROWS_AS(neg(ones({2}, kBool)), Error);
  CHECK_THROWS_AS(frac(tensor({3})), Error);
  CHECK(exp(zeros({0, 2})).sizes() == IntArrayRef({0, 2}));
}

TEST_CASE("NaN and infinities pass through") {
  const Tensor x = tensor({kNan, kInf, -kInf});
  for (const auto& f : {&halftone::exp, &halftone::relu, &halftone::tanh, &halftone::sigmoid, &halftone::abs,
                        &halftone::square, &halftone::silu, &halftone::log_sigmoid, &halftone::mish}) {
    CHECK(std::isnan(values(f(x))[0]));
  }
  CHECK(values(exp(x))[2] == 0);
  CHECK(values(tanh(x))[1] == 1);
  CHECK(values(relu(x))[1] == kInf);
  CHECK(values(sigmoid(x))[2] == 0);
  CHECK(values(silu(x))[1] == kInf);
  CHECK(values(isnan(x)) == List{1, 0, 0});
  CHECK(values(isinf(x)) == List{0, 1, 1});
  CHECK(values(isfinite(x)) == List{0, 0, 0});
  CHECK(values(nan_to_num(x, 1.0, 2.0, 3.0)) == List{1, 2, 3});
  CHECK(values(nan_to_num(x.to(kHalf))) == List{0, 65504, -65504});
}

TEST_CASE("clamp") {
  const Tensor x = tensor({-2.0, 0.5, 3.0, kNan});
  const List both = values(clamp(x, -1, 1));
  CHECK(List(both.begin(), both.begin() + 3) == List{-1, 0.5, 1});
  CHECK(std::isnan(both[3]));
  CHECK(values(clamp(tensor({1, 5}), 2, std::nullopt)) == List{2, 5});
  CHECK(clamp(tensor({1, 5}), 2).scalar_type() == kLong);
  CHECK(clamp(tensor({1, 5}), 2.5).scalar_type() == kFloat);
  CHECK(values(clamp(tensor({0.0}), 3, 1)) == List{1});  // the upper bound wins
  CHECK(values(clamp_max(tensor({5.0}), 4)) == List{4});
  CHECK_THROWS_AS(clamp(x), Error);
  CHECK(slope([](const Tensor& t) { return clamp(t, -1, 1); }, {-2, -1, 0, 1, 2}) == List{0, 1, 1, 1, 0});
}

TEST_CASE("the gradients of rounding are zero, those of abs and relu zero at zero") {
  CHECK(slope([](const Tensor& t) { return floor(t) + round(t) + sign(t); }, {0.3, -1.2}) == List{0, 0});
  CHECK(slope([](const Tensor& t) { return abs(t); }, {-2, 0, 2}) == List{-1, 0, 1});
  CHECK(slope([](const Tensor& t) { return relu(t); }, {-2, 0, 2}) == List{0, 0, 1});
  CHECK(slope([](const Tensor& t) { return relu6(t); }, {-1, 3, 7}) == List{0, 1, 0});
}

// --- Activations
// ------------------------------------------------------------------------------------------------

TEST_CASE("activations: values") {
  const Tensor x = tensor({-1.0, 0.0, 2.0});
  CHECK(values(relu(x)) == List{0, 0, 2});
  check_close(values(leaky_relu(x, 0.1)), {-0.1, 0, 2});
  check_close(values(gelu(x)), {-0.15865525, 0, 1.95449974});
  check_close(values(gelu(x, "tanh")), {-0.15880801, 0, 1.95459769});
  check_close(values(silu(x)), {-0.26894142, 0, 1.76159416});
  check_close(values(softplus(x)), {0.31326169, 0.69314718, 2.12692801});
  check_close(values(softplus(tensor({30.0}))), {30});
  check_close(values(elu(x)), {-0.63212056, 0, 2});
  check_close(values(elu(x, 1.6732632, 1.0507010)), {-1.11133074, 0, 2.101402});  // selu
  check_close(values(elu(x, 2, 1, 0.5)), {-0.78693868, 0, 2});                    // celu, alpha 2
  check_close(values(mish(x)), {-0.30340146, 0, 1.94395896});
  check_close(values(log_sigmoid(tensor({-100.0, 0.0, 100.0}))), {-100, -0.69314718, 0});
  CHECK(values(hardtanh(x)) == List{-1, 0, 1});
  CHECK_THROWS_WITH(gelu(x, "erf"), Contains("tanh"));
  CHECK_THROWS_AS(hardtanh(x, 1, -1), Error);
}

TEST_CASE("far out on the axis activations and their gradients stay finite") {
  for (ScalarType dtype : {kHalf, kBFloat16, kFloat}) {
    INFO(dtype_name(dtype));
    for (const char* form : {"none", "tanh"}) {
      CHECK(slope([&](const Tensor& t) { return gelu(t, form); }, {300, -300}, dtype) == List{1, 0});
    }
    CHECK(slope([](const Tensor& t) { return silu(t); }, {300, -300}, dtype) == List{1, 0});
    CHECK(slope([](const Tensor& t) { return mish(t); }, {300, -300}, dtype) == List{1, 0});
    CHECK(slope([](const Tensor& t) { return log_sigmoid(t); }, {300, -300}, dtype) == List{0, 1});
    CHECK(slope([](const Tensor& t) { return sigmoid(t); }, {300, -300}, dtype) == List{0, 0});
  }
}

// --- Comparison
// -------------------------------------------------------------------------------------------------

TEST_CASE("comparisons are exact, also of large integers and across dtypes") {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  CHECK(values(full({1}, big).eq(big - 1)) == List{0});
  CHECK(values(full({1}, big) > full({1}, big - 1)) == List{1});
  CHECK(values(tensor({1.0, kNan}) == tensor({1.0, kNan})) == List{1, 0});
  CHECK(values(tensor({1.0, kNan}) != tensor({1.0, kNan})) == List{0, 1});
  CHECK((tensor({1, 2}) < 2).scalar_type() == kBool);
  CHECK(values(tensor({1, 2}) <= 1.5) == List{1, 0});
  CHECK(values(ones({1}, kHalf) == ones({1}, kDouble)) == List{1});
  CHECK(values(2 > tensor({1, 2})) == List{1, 0});
}

TEST_CASE("logic and bits") {
  const Tensor a = tensor({true, true, false, false}), b = tensor({true, false, true, false});
  CHECK(values(a && b) == List{1, 0, 0, 0});
  CHECK(values(a || b) == List{1, 1, 1, 0});
  CHECK(values(logical_xor(a, b)) == List{0, 1, 1, 0});
  CHECK(values(!a) == List{0, 0, 1, 1});
  CHECK(values(~a) == List{0, 0, 1, 1});
  CHECK((~a).scalar_type() == kBool);
  CHECK(values(~tensor({0, 5})) == List{-1, -6});
  CHECK(values(tensor({12}) & tensor({10})) == List{8});
  CHECK(values(tensor({12}) | tensor({10})) == List{14});
  CHECK(values(tensor({12}) ^ tensor({10})) == List{6});
  CHECK_THROWS_AS(bitwise_and(ones({1}), ones({1})), Error);
  CHECK(values(logical_and(tensor({0.5, kNan, 0.0}), tensor({2, 2, 2}))) == List{1, 1, 0});
}

TEST_CASE("equal and allclose") {
  CHECK(equal(ones({2, 2}), ones({2, 2}, kLong)));
  CHECK_FALSE(equal(ones({2, 2}), ones({4})));
  CHECK_FALSE(equal(tensor({kNan}), tensor({kNan})));
  CHECK(equal(zeros({0, 2}), ones({0, 2})));
  CHECK(allclose(tensor({1.0, kInf}), tensor({1.000001, kInf})));
  CHECK_FALSE(allclose(tensor({1.0}), tensor({1.001})));
  CHECK_FALSE(allclose(tensor({kInf}), tensor({-kInf})));
  CHECK_FALSE(allclose(tensor({kNan}), tensor({kNan})));
  CHECK(allclose(tensor({kNan}), tensor({kNan}), 0, 0, true));
  CHECK(values(isclose(tensor({1.0, 2.0}), tensor({1.1, 2.5}), 0, 0.2)) == List{1, 0});
  CHECK_THROWS_AS(allclose(ones({1}), ones({1}), -1), Error);
}

// --- In place
// ---------------------------------------------------------------------------------------------------

TEST_CASE("operators in place keep the dtype and record") {
  Tensor half = full({2}, 2, kHalf);
  half.add_(ones({2}) * 0.5).mul_(2).sub_(1).div_(4);
  CHECK(half.scalar_type() == kHalf);
  CHECK(values(half) == List{1, 1});
  const Tensor x = leaf({1, 2, 3}, kDouble);
  Tensor y = x * 2;
  y.pow_(2);
  y.add_(y);  // aliases itself
  CHECK(values(y) == List{8, 32, 72});
  y.sum().backward();
  check_close(values(x.grad()), {16, 32, 48});
  Tensor z = x * 2;
  z.exp_().log_();  // log_ overwrites what exp needs
  CHECK_THROWS_WITH(z.sum().backward(), Contains("written in place"));
  Tensor integer = tensor({1, 2});
  CHECK_THROWS_AS(integer.add_(0.5), Error);
  CHECK_THROWS_AS(half.add_(ones({3, 2})), Error);
  Tensor square = arange(4, kFloat).view({2, 2});
  square.add_(square.t());
  CHECK(values(square) == List{0, 3, 3, 6});
  Tensor sigmoided = zeros({2});
  CHECK(values(sigmoided.sigmoid_()) == List{0.5, 0.5});
}

TEST_CASE("expanded, transposed and stepped operands") {
  const Tensor m = arange(6, kFloat).view({2, 3});
  CHECK(values(m.t() + m.t()) == List{0, 6, 2, 8, 4, 10});
  CHECK(values(ones({1}).expand({3}) * m) == values(m));
  CHECK(values(exp(m.slice(1, 0, 3, 2)) * 0 + m.slice(1, 0, 3, 2)) == List{0, 2, 3, 5});
}

// --- Autocast
// ---------------------------------------------------------------------------------------------------

TEST_CASE("inside a region exp and pow of half give fp32, gelu and add keep half") {
  const Tensor x = full({2}, 11, kHalf);
  const amp::Autocast autocast(test::device_type(), kHalf);
  CHECK(exp(x).scalar_type() == kFloat);
  CHECK(exp(x).select(0, 0).item<double>() == Approx(59874.14).epsilon(1e-6));
  CHECK(exp(x + 1).select(0, 0).item<double>() == Approx(162754.79).epsilon(1e-6));  // beyond float16
  CHECK(pow(x, 5).select(0, 0).item<double>() == 161051);
  CHECK(gelu(x).scalar_type() == kHalf);
  CHECK((x + x).scalar_type() == kHalf);
  CHECK((x * ones({2})).scalar_type() == kFloat);
  CHECK((x + ones({2}, kBFloat16)).scalar_type() == kFloat);
  CHECK(exp(x.to(kDouble)).scalar_type() == kDouble);
}

TEST_CASE("fp32 operators keep half inputs as they are for backward") {
  Tensor x = rand({1000}, kHalf);
  x.requires_grad_();
  const amp::Autocast autocast(test::device_type(), kHalf);
  const Tensor y = log(x + 1);
  CHECK(y.scalar_type() == kFloat);
  CHECK(autograd::saved_bytes(y) <= 2000 + 64);
}
