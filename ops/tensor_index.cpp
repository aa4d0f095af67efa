// What stands between the brackets of x.index({...}): slices, integers, None, Ellipsis, bools, index tensors.

#include <cstring>

#include "halftone/ops/operator.h"

namespace halftone {
namespace indexing {

TensorIndex::TensorIndex(const char* dots) : kind_(Kind::kEllipsis) {
  if (std::strcmp(dots, "...") != 0)
    fail("index", "the only text accepted as an index is \"...\", got \"", dots, "\"");
}

TensorIndex::TensorIndex(const Tensor& tensor)
    : kind_(Kind::kTensor), tensor_(std::make_shared<Tensor>(tensor)) {
  if (!tensor.defined()) fail("index", "an index tensor is undefined");
}

}  // namespace indexing

namespace {

using indexing::TensorIndex;
using Kind = TensorIndex::Kind;

/// What is left when everything but index tensors is applied as views: one entry per dimension, undefined
/// where all is taken.
struct Applied {
  Tensor view;
  std::vector<Tensor> entries;
};

bool is_mask(const Tensor& tensor) { return tensor.scalar_type() == kBool; }

/// An integer in a 0-d tensor counts as an integer.
std::optional<std::int64_t> as_integer(const TensorIndex& index) {
  if (index.kind() == Kind::kInteger) return index.integer();
  if (index.kind() != Kind::kTensor) return std::nullopt;
  const Tensor& tensor = index.tensor();
  if (tensor.dim() != 0 || is_mask(tensor) || tensor.is_floating_point()) return std::nullopt;
  return tensor.item<std::int64_t>();
}

/// Dimensions of the indexed tensor that an index uses up.
std::int64_t consumed(const TensorIndex& index) {
  switch (index.kind()) {
    case Kind::kNone:
    case Kind::kEllipsis:
    case Kind::kBoolean:
      return 0;
    case Kind::kInteger:
    case Kind::kSlice:
      return 1;
    case Kind::kTensor:
      return is_mask(index.tensor()) ? index.tensor().dim() : 1;
  }
  return 1;
}

Applied apply(const Tensor& self, const TensorIndex* indices, std::size_t count) {
  std::int64_t used = 0;
  int dots = 0;
  for (std::size_t i = 0; i < count; ++i) {
    used += consumed(indices[i]);
    dots += indices[i].kind() == Kind::kEllipsis;
  }
  if (used > self.dim()) fail("index", "too many indices (", used, ") for ", self);
  if (dots > 1) fail("index", "at most one Ellipsis is accepted, got ", dots);

  Applied out{self, {}};
  std::int64_t dim = 0;
  const auto put_entry = [&](const Tensor& entry) {
    out.entries.resize(static_cast<std::size_t>(dim + 1));
    out.entries.back() = entry;
  };
  // A bool is a mask over a new dimension of size 1: it keeps everything or nothing.
  const auto put_bool = [&](bool keep) {
    out.view = unsqueeze(out.view, dim);
    put_entry(zeros({keep ? 1 : 0}, TensorOptions(kLong).device(self.device())));
    ++dim;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const TensorIndex& index = indices[i];
    if (const auto integer = as_integer(index)) {
      out.view = select(out.view, dim, *integer);
      continue;
    }
    switch (index.kind()) {
      case Kind::kNone:
        out.view = unsqueeze(out.view, dim++);
        break;
      case Kind::kEllipsis:
        dim += self.dim() - used;
        break;
      case Kind::kBoolean:
        put_bool(index.boolean());
        break;
      case Kind::kSlice:
        out.view = slice(out.view, dim, index.slice().start(), index.slice().stop(), index.slice().step());
        ++dim;
        break;
      case Kind::kTensor: {
        const Tensor& tensor = index.tensor();
        if (is_mask(tensor) && tensor.dim() == 0) {
          put_bool(tensor.item<bool>());
          break;
        }
        if (!is_mask(tensor)) {
          put_entry(tensor);
          ++dim;
          break;
        }
        for (std::int64_t d = 0; d < tensor.dim(); ++d) {
          if (tensor.size(d) != out.view.size(dim + d)) {
            fail("index", "the mask ", tensor, " does not fit ", out.view, " at dimension ", dim);
          }
        }
        const Tensor found = nonzero(tensor);
        for (std::int64_t d = 0; d < tensor.dim(); ++d, ++dim) put_entry(select(found, 1, d));
        break;
      }
      case Kind::kInteger:
        break;  // done above
    }
  }
  return out;
}

Tensor read(const Tensor& self, const TensorIndex* indices, std::size_t count) {
  const Applied applied = apply(self, indices, count);
  return applied.entries.empty() ? applied.view : index(applied.view, applied.entries);
}

/// Without the leading dimensions of size 1 that `rank` dimensions have no room for: values may have them
/// (NumPy's rule).
Tensor without_leading_ones(Tensor values, std::int64_t rank) {
  while (values.dim() > rank && values.size(0) == 1) values = select(values, 0, 0);
  return values;
}

void write(const Tensor& self, const TensorIndex* indices, std::size_t count, const Tensor& values) {
  Applied applied = apply(self, indices, count);
  if (applied.entries.empty()) {
    applied.view.copy_(without_leading_ones(values, applied.view.dim()));
  } else {
    index_put_(applied.view, applied.entries, values);
  }
}

}  // namespace

Tensor Tensor::operator[](const Tensor& index) const { return this->index({indexing::TensorIndex(index)}); }

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return read(*this, indices.begin(), indices.size());
}

Tensor Tensor::index(const std::vector<TensorIndex>& indices) const {
  return read(*this, indices.data(), indices.size());
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) {
  write(*this, indices.begin(), indices.size(), values);
  return *this;
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) {
  write(*this, indices.begin(), indices.size(), full({}, value, options()));
  return *this;
}

Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const Tensor& values) {
  write(*this, indices.data(), indices.size(), values);
  return *this;
}

}  // namespace halftone
