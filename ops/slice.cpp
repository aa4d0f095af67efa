// Views of a part: select, slice, diagonal. Each gradient is written into zeros of the input's shape by one
// backward operator.

#include <limits>

#include "halftone/kernels/copy.h"
#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }

/// start and end as PyTorch reads them: from the end when negative, then cut to 0 .. size.
std::int64_t cut_to(std::int64_t position, std::int64_t low, std::int64_t size) {
  return std::min(std::max(position < 0 ? position + size : position, low), size);
}

struct Range {
  std::int64_t dim, start, length;
};

Range slice_range(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                  std::optional<std::int64_t> end, std::int64_t step) {
  if (self.dim() == 0) fail("slice", "a 0-d tensor has no dimension to slice");
  if (step < 1) fail("slice", "step must be positive, got ", step);
  Range range{wrap_dim("slice", dim, self.dim()), 0, 0};
  const std::int64_t size = self.sizes()[at(range.dim)];
  range.start = cut_to(start.value_or(0), 0, size);
  const std::int64_t stop = cut_to(end.value_or(size), range.start, size);
  range.length = (stop - range.start + step - 1) / step;
  return range;
}

std::int64_t wrap_index(const char* op, const Tensor& self, std::int64_t dim, std::int64_t index) {
  const std::int64_t size = self.sizes()[at(dim)];
  if (index < -size || index >= size) {
    fail(op, "index ", index, " is out of range for dimension ", dim, " of size ", size, " of ", self);
  }
  return index < 0 ? index + size : index;
}

/// Zeros everywhere in `out` but in `part`, a window on it, which gets `grad`.
void write_part(const Tensor& out, const Tensor& part, const Tensor& grad) {
  const CopyKernels& kernels = kernels_for<CopyKernels>(out.device());
  kernels.fill(out, 0, 0);
  kernels.copy(part, grad);
}

/// Checks that `grad` has the shape of that part.
void check_part(const char* op, const Tensor& part, const Tensor& grad) {
  if (part.sizes() != grad.sizes()) fail(op, "expected a gradient of shape ", part.sizes(), ", got ", grad);
}

/// A tensor of that shape without memory of its own, to ask for windows.
Tensor shape_of(const Tensor& grad, IntArrayRef sizes) {
  return alias(grad, sizes, contiguous_strides(sizes), 0);
}

}  // namespace

Tensor alias_diagonal(const Tensor& tensor, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  const std::size_t first = at(dim1), second = at(dim2);
  const std::int64_t below = std::max<std::int64_t>(-offset, 0), above = std::max<std::int64_t>(offset, 0);
  const std::int64_t length =
      std::max<std::int64_t>(std::min(impl.sizes[first] - below, impl.sizes[second] - above), 0);
  const std::int64_t start = length == 0 ? 0 : below * impl.strides[first] + above * impl.strides[second];
  Dims sizes = impl.sizes, strides = impl.strides;
  const std::int64_t step = strides[first] + strides[second];
  for (std::size_t gone : {std::max(first, second), std::min(first, second)}) {
    sizes.erase(gone);
    strides.erase(gone);
  }
  sizes.push_back(length);
  strides.push_back(step);
  return alias(tensor, sizes, strides, impl.offset + start);
}

struct Select : Operator {
  static constexpr Schema schema{"select", {"self", "dim", "index"}, "the slice at index along dim"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, std::int64_t) = &halftone::select;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t dim, std::int64_t index) {
    if (self.dim() == 0) fail("select", "a 0-d tensor cannot be indexed; read it with item()");
    const std::int64_t d = wrap_dim("select", dim, self.dim());
    return alias_select(self, d, wrap_index("select", self, d, index));
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim, std::int64_t index) {
    return select_backward(grad, s.sizes(0), dim, index);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}), 1, 2);
    s(s.rand({3, 2}), 0, -1);
    s(s.rand({2, 0}), 0, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Select)

struct Slice : Operator {
  static constexpr Schema schema{"slice",
                                 {"self", "dim", "start", "end", "step"},
                                 "elements start, start + step, ... before end along dim"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, std::optional<std::int64_t>,
                                 std::optional<std::int64_t>, std::int64_t) = &halftone::slice;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) {
    const Range range = slice_range(self, dim, start, end, step);
    return alias_slice(self, range.dim, range.start, range.length, step);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim,
                         std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                         std::int64_t step) {
    return slice_backward(grad, s.sizes(0), dim, start.value_or(0),
                          end.value_or(std::numeric_limits<std::int64_t>::max()), step);
  }
  static void samples(Samples& s) {
    s(s.rand({5, 3}), 0, 1, 4, 2);
    s(s.rand({2, 5}), 1, std::nullopt, -1, 1);
    s(s.rand({2, 5}), -1, -3, std::nullopt, 1);
    s(s.rand({4}), 0, 3, 1, 1);
    s(s.rand({0, 2}), 0, 0, 9, 3);
  }
};
HALFTONE_REGISTER_OPERATOR(Slice)

struct Diagonal : Operator {
  static constexpr Schema schema{
      "diagonal", {"self", "offset", "dim1", "dim2"}, "the diagonal between two dimensions, as the last one"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, std::int64_t,
                                 std::int64_t) = &halftone::diagonal;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
    const std::int64_t a = wrap_dim("diagonal", dim1, self.dim()), b = wrap_dim("diagonal", dim2, self.dim());
    if (self.dim() < 2 || a == b)
      fail("diagonal", "expected two different dimensions of ", self, ", got ", dim1, " and ", dim2);
    return alias_diagonal(self, offset, a, b);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2) {
    return diagonal_backward(grad, s.sizes(0), offset, dim1, dim2);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), 1, 0, 1);
    s(s.rand({2, 3, 3}), -1, 2, 1);
    s(s.rand({2, 2}), 5, 0, -1);
    s(s.rand({0, 2}), 0, 0, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Diagonal)

struct SelectBackward : Operator {
  static constexpr Schema schema{"select_backward",
                                 {"grad", "input_sizes", "dim", "index"},
                                 "zeros of input_sizes with grad at index along dim"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, std::int64_t,
                                 std::int64_t) = &halftone::select_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor part(const Tensor& whole, std::int64_t dim, std::int64_t index) {
    const std::int64_t d = wrap_dim("select_backward", dim, whole.dim());
    return alias_select(whole, d, wrap_index("select_backward", whole, d, index));
  }
  static Meta infer(const Tensor& grad, IntArrayRef sizes, std::int64_t dim, std::int64_t index) {
    if (sizes.empty()) fail("select_backward", "expected at least one input size");
    check_part("select_backward", part(shape_of(grad, sizes), dim, index), grad);
    return like(grad, sizes);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef, std::int64_t dim, std::int64_t index) {
    write_part(out, part(out, dim, index), grad);
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef, std::int64_t dim,
                         std::int64_t index) {
    return select(grad, dim, index);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 4}), Dims{2, 3, 4}, 1, 2);
    s(s.rand({2}), Dims{3, 2}, 0, -1);
    s(s.rand({0}), Dims{2, 0}, 0, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(SelectBackward)

struct SliceBackward : Operator {
  static constexpr Schema schema{"slice_backward",
                                 {"grad", "input_sizes", "dim", "start", "end", "step"},
                                 "zeros of input_sizes with grad in the slice"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t) = &halftone::slice_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor part(const Tensor& whole, std::int64_t dim, std::int64_t start, std::int64_t end,
                     std::int64_t step) {
    const Range range = slice_range(whole, dim, start, end, step);
    return alias_slice(whole, range.dim, range.start, range.length, step);
  }
  static Meta infer(const Tensor& grad, IntArrayRef sizes, std::int64_t dim, std::int64_t start,
                    std::int64_t end, std::int64_t step) {
    check_part("slice_backward", part(shape_of(grad, sizes), dim, start, end, step), grad);
    return like(grad, sizes);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef, std::int64_t dim, std::int64_t start,
                  std::int64_t end, std::int64_t step) {
    write_part(out, part(out, dim, start, end, step), grad);
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef, std::int64_t dim, std::int64_t start,
                         std::int64_t end, std::int64_t step) {
    return slice(grad, dim, start, end, step);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{5, 3}, 0, 1, 4, 2);
    s(s.rand({2, 4}), Dims{2, 5}, -1, 0, -1, 1);
    s(s.rand({0, 2}), Dims{3, 2}, 0, 2, 2, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(SliceBackward)

struct DiagonalBackward : Operator {
  static constexpr Schema schema{"diagonal_backward",
                                 {"grad", "input_sizes", "offset", "dim1", "dim2"},
                                 "zeros of input_sizes with grad on the diagonal"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, std::int64_t, std::int64_t,
                                 std::int64_t) = &halftone::diagonal_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor part(const Tensor& whole, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
    const std::int64_t a = wrap_dim("diagonal_backward", dim1, whole.dim());
    const std::int64_t b = wrap_dim("diagonal_backward", dim2, whole.dim());
    if (whole.dim() < 2 || a == b)
      fail("diagonal_backward", "expected two different dimensions of ", whole.sizes());
    return alias_diagonal(whole, offset, a, b);
  }
  static Meta infer(const Tensor& grad, IntArrayRef sizes, std::int64_t offset, std::int64_t dim1,
                    std::int64_t dim2) {
    check_part("diagonal_backward", part(shape_of(grad, sizes), offset, dim1, dim2), grad);
    return like(grad, sizes);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef, std::int64_t offset, std::int64_t dim1,
                  std::int64_t dim2) {
    write_part(out, part(out, offset, dim1, dim2), grad);
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef, std::int64_t offset,
                         std::int64_t dim1, std::int64_t dim2) {
    return diagonal(grad, offset, dim1, dim2);
  }
  static void samples(Samples& s) {
    s(s.rand({3}), Dims{3, 4}, 1, 0, 1);
    s(s.rand({2, 2}), Dims{2, 3, 3}, -1, 2, 1);
    s(s.rand({0}), Dims{0, 2}, 0, 0, -1);
  }
};
HALFTONE_REGISTER_OPERATOR(DiagonalBackward)

namespace {

/// A tensor taken apart along one dimension: one node for all pieces, whose gradient is theirs put together
/// in one pass. (A slice of its own for every piece would make the whole's zeros once per piece.)
class PiecesNode final : public autograd::Node {
 public:
  /// `joins`: cat or stack.
  PiecesNode(const char* name, const Tensor& self, const std::vector<Tensor>& pieces, std::int64_t dim,
             Tensor (*joins)(const TensorList&, std::int64_t))
      : Node(name), dim_(dim), joins_(joins) {
    add_input(self);
    set_output_count(static_cast<std::uint32_t>(pieces.size()));
    sizes_.reserve(pieces.size());
    for (const Tensor& piece : pieces) sizes_.push_back(piece.sizes().dims());
  }

  Gradients apply(Gradients gradients) override {
    TensorOptions options;
    for (const Tensor& gradient : gradients) {
      if (gradient.defined()) options = gradient.options();
    }
    std::vector<Tensor> parts;
    parts.reserve(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool known = i < gradients.size() && gradients[i].defined();
      parts.push_back(known ? gradients[i] : zeros({}, options).expand(sizes_[i]));
    }
    return {joins_(parts, dim_)};
  }

 private:
  std::int64_t dim_;
  Tensor (*joins_)(const TensorList&, std::int64_t);
  std::vector<Dims> sizes_;
};

/// Makes `pieces`, which together are `self`, differentiable views of it.
std::vector<Tensor> record_pieces(const char* name, const Tensor& self, std::vector<Tensor> pieces,
                                  std::int64_t dim, Tensor (*joins)(const TensorList&, std::int64_t)) {
  IntrusivePtr<autograd::Node> node;
  if (GradMode::is_enabled() && autograd::wants_grad(self)) {
    node = make_intrusive<PiecesNode>(name, self, pieces, dim, joins);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    autograd::set_view_of(pieces[i], self);
    if (node) autograd::set_history(pieces[i], node, static_cast<std::uint32_t>(i));
  }
  return pieces;
}

}  // namespace
}  // namespace ops

Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index) {
  return ops::dispatch<ops::Select>(self, dim, index);
}

Tensor slice(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step) {
  return ops::dispatch<ops::Slice>(self, dim, start, end, step);
}

Tensor narrow(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
  if (self.dim() == 0) fail("narrow", "a 0-d tensor has no dimension to narrow");
  const std::int64_t d = wrap_dim("narrow", dim, self.dim());
  const std::int64_t size = self.size(d);
  const std::int64_t from = start < 0 ? start + size : start;
  if (from < 0 || length < 0 || from + length > size) {
    fail("narrow", "start ", start, " with length ", length, " does not fit dimension ", d, " of size ", size,
         " of ", self);
  }
  return slice(self, d, from, from + length);
}

Tensor diagonal(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return ops::dispatch<ops::Diagonal>(self, offset, dim1, dim2);
}

std::vector<Tensor> split(const Tensor& self, std::int64_t split_size, std::int64_t dim) {
  const std::int64_t d = wrap_dim("split", dim, self.dim());
  const std::int64_t size = self.dim() == 0 ? 0 : self.size(d);
  if (self.dim() == 0 || split_size < 0 || (split_size == 0 && size != 0)) {
    fail("split", "cannot split dimension ", dim, " of ", self, " into pieces of ", split_size);
  }
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  do {
    const std::int64_t length = std::min(split_size, size - start);
    pieces.push_back(ops::alias_slice(self, d, start, length, 1));
    start += length;
  } while (start < size);
  return ops::record_pieces("split", self, std::move(pieces), d, &cat);
}

std::vector<Tensor> split(const Tensor& self, IntArrayRef split_sizes, std::int64_t dim) {
  const std::int64_t d = wrap_dim("split", dim, self.dim());
  std::int64_t total = 0;
  for (std::int64_t size : split_sizes) {
    if (size < 0) fail("split", "sizes ", split_sizes, " contain a negative one");
    total += size;
  }
  if (self.dim() == 0 || total != self.size(d)) {
    fail("split", "sizes ", split_sizes, " do not add up to dimension ", dim, " of ", self);
  }
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (std::int64_t size : split_sizes) {
    pieces.push_back(ops::alias_slice(self, d, start, size, 1));
    start += size;
  }
  return ops::record_pieces("split", self, std::move(pieces), d, &cat);
}

std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim) {
  if (chunks < 1) fail("chunk", "expected at least 1 chunk, got ", chunks);
  const std::int64_t d = wrap_dim("chunk", dim, self.dim());
  if (self.dim() == 0) fail("chunk", "a 0-d tensor cannot be split");
  const std::int64_t piece = (self.size(d) + chunks - 1) / chunks;
  if (piece > 0) return split(self, piece, d);
  std::vector<Tensor> pieces;
  for (std::int64_t i = 0; i < chunks; ++i) pieces.push_back(narrow(self, d, 0, 0));
  return pieces;
}

std::vector<Tensor> unbind(const Tensor& self, std::int64_t dim) {
  const std::int64_t d = wrap_dim("unbind", dim, self.dim());
  if (self.dim() == 0) fail("unbind", "a 0-d tensor cannot be taken apart");
  std::vector<Tensor> slices;
  for (std::int64_t i = 0; i < self.size(d); ++i) slices.push_back(ops::alias_select(self, d, i));
  return ops::record_pieces("unbind", self, std::move(slices), d, &stack);
}

Tensor select_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t dim, std::int64_t index) {
  return ops::dispatch<ops::SelectBackward>(grad, input_sizes, dim, index);
}

Tensor slice_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t dim, std::int64_t start,
                      std::int64_t end, std::int64_t step) {
  return ops::dispatch<ops::SliceBackward>(grad, input_sizes, dim, start, end, step);
}

Tensor diagonal_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2) {
  return ops::dispatch<ops::DiagonalBackward>(grad, input_sizes, offset, dim1, dim2);
}
}  // namespace halftone
