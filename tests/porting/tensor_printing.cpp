// What printing gives.

#include "halftone/tests/porting/check.h"

#include <sstream>

namespace {

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

int main() {
  PORTING_CHECK(text(torch::tensor(3)) == "3\n[ CPULongType{} ]");
  PORTING_CHECK(text(torch::tensor({1, 2, 30})) == "  1\n  2\n 30\n[ CPULongType{3} ]");
  PORTING_CHECK(text(torch::tensor({{1.0, 2.0}, {3.0, 4.0}})) == " 1  2\n 3  4\n[ CPUFloatType{2,2} ]");
  PORTING_CHECK(text(torch::tensor({0.5, -1.25})) == " 0.5000\n-1.2500\n[ CPUFloatType{2} ]");
  PORTING_CHECK(text(torch::tensor({true, false})) == " 1\n 0\n[ CPUBoolType{2} ]");
  PORTING_CHECK(text(torch::tensor({1e-4, 1.0})) == " 1.0000e-04\n 1.0000e+00\n[ CPUFloatType{2} ]");
  PORTING_CHECK(text(torch::tensor({10000.5, 20000.25})) == " 10000.5000\n 20000.2500\n[ CPUFloatType{2} ]");
  PORTING_CHECK(text(torch::tensor({123456.5})) == "1e+05 *\n 1.2346\n[ CPUFloatType{1} ]");
  PORTING_CHECK(text(torch::zeros({2, 1, 2})) ==
                "(1,.,.) = \n  0  0\n\n(2,.,.) = \n  0  0\n[ CPUFloatType{2,1,2} ]");
  PORTING_CHECK(text(torch::empty({0})) == "[ CPUFloatType{0} ]");
  PORTING_CHECK(text(torch::Tensor()) == "[ Tensor (undefined) ]");
  PORTING_CHECK(text(torch::ones({2}, torch::kHalf)) == " 1\n 1\n[ CPUHalfType{2} ]");
  PORTING_CHECK(text(torch::zeros({2, 3}).sizes()) == "[2, 3]");
  PORTING_CHECK(text(torch::kFloat) == "Float" &&
                text(torch::zeros({1}, torch::kLong).scalar_type()) == "Long");
  PORTING_CHECK(text(torch::Device(torch::kCPU)) == "cpu");
  return porting::result("tensor_printing");
}
