// Questions about tensors and dtypes.

#include "halftone/engine/tensor.h"

namespace halftone {

bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
bool is_complex(const Tensor&) { return false; }
bool is_signed(const Tensor& self) { return self.scalar_type() != kByte && self.scalar_type() != kBool; }

bool is_nonzero(const Tensor& self) {
  if (self.numel() != 1) fail("is_nonzero", "expected a tensor of one element, got ", self);
  return self.item<bool>();
}

bool is_same_size(const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes(); }

std::int64_t numel(const Tensor& self) { return self.numel(); }
std::int64_t size(const Tensor& self, std::int64_t dim) { return self.size(dim); }
std::int64_t stride(const Tensor& self, std::int64_t dim) { return self.stride(dim); }

bool can_cast(ScalarType from, ScalarType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

}  // namespace halftone
