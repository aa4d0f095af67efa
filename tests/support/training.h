#pragma once

// Small helpers of the optimizer and mixed-precision tests.

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "halftone/amp/grad_scaler.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/optim/optim.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

namespace halftone::test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A trainable tensor of the given values.
inline Tensor parameter(const std::vector<double>& values, ScalarType dtype = kFloat) {
  Tensor leaf = tensor(values, kDouble).to(dtype);
  leaf.requires_grad_();
  return leaf;
}

/// Writes a gradient by hand, as if a backward in scaled units had left it.
inline void inject(const Tensor& leaf, const std::vector<double>& values, ScalarType dtype = kFloat) {
  leaf.mutable_grad() = tensor(values, kDouble).to(dtype);
}

/// Same dtype, shape and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const Tensor x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// While alive, tensors are made on the CPU unless a device is named, on whatever device the tests run.
class CpuByDefault {
 public:
  CpuByDefault() : before_(get_default_device()) { set_default_device(kCPU); }
  ~CpuByDefault() { set_default_device(before_); }
  CpuByDefault(const CpuByDefault&) = delete;
  CpuByDefault& operator=(const CpuByDefault&) = delete;

 private:
  Device before_;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace halftone::test
