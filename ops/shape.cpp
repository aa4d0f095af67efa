// Copies that rearrange: cat, stack, flip, roll, repeat, triangles. Elements are converted while they are
// copied, never before.

#include "halftone/kernels/copy.h"
#include "halftone/kernels/index.h"
#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }

void copy_into(const Tensor& out, const Tensor& src) {
  kernels_for<CopyKernels>(out.device()).copy(out, src);
}

/// The dtype that represents all of them.
ScalarType widest(const char* op, const TensorList& tensors) {
  if (tensors.empty()) fail(op, "expected at least one tensor");
  ScalarType dtype = tensors[0].scalar_type();
  for (const Tensor& tensor : tensors) {
    dtype = promote_types(dtype, tensor.scalar_type());
    if (tensor.device() != tensors[0].device()) {
      fail(op, "tensors on different devices: ", tensors[0].device(), " and ", tensor.device());
    }
  }
  return dtype;
}

/// PyTorch's old empty tensor of shape [0], which cat skips whatever the others' shapes.
bool is_legacy_empty(IntArrayRef sizes) { return sizes.size() == 1 && sizes[0] == 0; }

/// Each dimension once, none when empty.
Dims wrap_dims(const char* op, IntArrayRef dims, std::int64_t rank) {
  Dims out;
  unsigned seen = 0;
  for (std::int64_t dim : dims) {
    const std::int64_t d = wrap_dim(op, dim, rank);
    if (seen & 1u << d) fail(op, "dims ", dims, " names dimension ", d, " twice");
    seen |= 1u << d;
    if (rank > 0) out.push_back(d);
  }
  return out;
}

}  // namespace

struct Cat : Operator {
  static constexpr Schema schema{"cat", {"tensors", "dim"}, "tensors one after the other along dim"};
  static constexpr Tensor (*api)(const TensorList&, std::int64_t) = &halftone::cat;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;

  static Meta infer(const TensorList& tensors, std::int64_t dim) {
    const ScalarType dtype = widest("cat", tensors);
    const Tensor* first = nullptr;
    std::int64_t d = 0;
    Dims sizes{0};
    for (const Tensor& tensor : tensors) {
      if (tensor.dim() == 0) fail("cat", "0-d tensors cannot be joined; use stack");
      if (is_legacy_empty(tensor.sizes())) continue;
      if (!first) {
        first = &tensor;
        d = wrap_dim("cat", dim, tensor.dim());
        sizes = tensor.sizes().dims();
        continue;
      }
      bool fits = tensor.dim() == first->dim();
      for (std::int64_t i = 0; fits && i < tensor.dim(); ++i)
        fits = i == d || tensor.size(i) == first->size(i);
      if (!fits)
        fail("cat", "shapes ", first->sizes(), " and ", tensor.sizes(), " differ outside dimension ", d);
      sizes[at(d)] += tensor.size(d);
    }
    return like(tensors[0], sizes, dtype);
  }
  static void run(const Tensor& out, const TensorList& tensors, std::int64_t dim) {
    const std::int64_t d = wrap_dim("cat", dim, out.dim());
    std::int64_t start = 0;
    for (const Tensor& tensor : tensors) {
      if (is_legacy_empty(tensor.sizes())) continue;
      copy_into(alias_slice(out, d, start, tensor.size(d)), tensor);
      start += tensor.size(d);
    }
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    const std::int64_t d = wrap_dim("cat", dim, grad.dim());
    Gradients gradients(s.input_count(), Tensor());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < s.input_count(); ++i) {
      const Dims& sizes = s.sizes(static_cast<int>(i));
      if (is_legacy_empty(sizes)) {
        if (s.needs(static_cast<int>(i))) gradients[i] = zeros(sizes, grad.options());
        continue;
      }
      if (s.needs(static_cast<int>(i))) gradients[i] = narrow(grad, d, start, sizes[at(d)]);
      start += sizes[at(d)];
    }
    return gradients;
  }
  static void samples(Samples& s) {
    s(std::vector<Tensor>{s.rand({2, 3}), s.rand({1, 3}), s.rand({2, 3})}, 0);
    s(std::vector<Tensor>{s.rand({2, 3}), s.rand({2, 0}), s.rand({0})}, -1);
    s(std::vector<Tensor>{s.rand({3})}, 0);
  }
};
HALFTONE_REGISTER_OPERATOR(Cat)

struct Stack : Operator {
  static constexpr Schema schema{
      "stack", {"tensors", "dim"}, "tensors of one shape along a new dimension dim"};
  static constexpr Tensor (*api)(const TensorList&, std::int64_t) = &halftone::stack;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;

  static Meta infer(const TensorList& tensors, std::int64_t dim) {
    const ScalarType dtype = widest("stack", tensors);
    for (const Tensor& tensor : tensors) {
      if (tensor.sizes() != tensors[0].sizes()) {
        fail("stack", "shapes ", tensors[0].sizes(), " and ", tensor.sizes(), " differ");
      }
    }
    Dims sizes = tensors[0].sizes().dims();
    sizes.insert(at(wrap_dim("stack", dim, tensors[0].dim() + 1)), static_cast<std::int64_t>(tensors.size()));
    return like(tensors[0], sizes, dtype);
  }
  static void run(const Tensor& out, const TensorList& tensors, std::int64_t dim) {
    const std::int64_t d = wrap_dim("stack", dim, out.dim());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      copy_into(alias_select(out, d, static_cast<std::int64_t>(i)), tensors[i]);
    }
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    Gradients gradients(s.input_count(), Tensor());
    for (std::size_t i = 0; i < s.input_count(); ++i) {
      if (s.needs(static_cast<int>(i))) gradients[i] = select(grad, dim, static_cast<std::int64_t>(i));
    }
    return gradients;
  }
  static void samples(Samples& s) {
    s(std::vector<Tensor>{s.rand({2, 3}), s.rand({2, 3})}, 1);
    s(std::vector<Tensor>{s.rand({}), s.rand({}), s.rand({})}, 0);
    s(std::vector<Tensor>{s.rand({0, 2}), s.rand({0, 2})}, -1);
  }
};
HALFTONE_REGISTER_OPERATOR(Stack)

struct Flip : Operator {
  static constexpr Schema schema{"flip", {"self", "dims"}, "the order of elements reversed along dims"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef) = &halftone::flip;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, IntArrayRef dims) {
    wrap_dims("flip", dims, self.dim());
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dims) {
    kernels_for<ArrangeKernels>(out.device()).flip(out, self, wrap_dims("flip", dims, self.dim()));
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef dims) { return flip(grad, dims); }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}), Dims{0, 2});
    s(s.rand({5}), Dims{-1});
    s(s.rand({2, 0}), Dims{1});
  }
};
HALFTONE_REGISTER_OPERATOR(Flip)

struct Roll : Operator {
  static constexpr Schema schema{
      "roll", {"self", "shifts", "dims"}, "elements moved on along dims, round the end"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef) = &halftone::roll;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
    if (shifts.size() != dims.size()) {
      fail("roll", "expected one shift per dimension, got shifts ", shifts, " and dims ", dims);
    }
    wrap_dims("roll", dims, self.dim());
    return like(self);
  }
  // Along each dimension two pieces change places.
  static void move(const Tensor& out, const Tensor& self, IntArrayRef shifts, const Dims& dims,
                   std::size_t next) {
    if (next == dims.size()) {
      copy_into(out, self);
      return;
    }
    const std::int64_t d = dims[next], size = self.size(d);
    const std::int64_t shift = ((shifts[next] % size) + size) % size;
    move(alias_slice(out, d, shift, size - shift), alias_slice(self, d, 0, size - shift), shifts, dims,
         next + 1);
    if (shift > 0) {
      move(alias_slice(out, d, 0, shift), alias_slice(self, d, size - shift, shift), shifts, dims, next + 1);
    }
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
    if (self.numel() > 0) move(out, self, shifts, wrap_dims("roll", dims, self.dim()), 0);
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef shifts, IntArrayRef dims) {
    Dims back = shifts.dims();
    for (std::int64_t& shift : back) shift = -shift;
    return ops::dispatch<Roll>(grad, IntArrayRef(back), dims);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), Dims{1, -3}, Dims{0, 1});
    s(s.rand({3, 4}), Dims{5}, Dims{});
    s(s.rand({2, 3}), Dims{-1}, Dims{-1});
    s(s.rand({0, 3}), Dims{1}, Dims{0});
  }
};
HALFTONE_REGISTER_OPERATOR(Roll)

/// Tril and Triu: what lies on one side of a diagonal of every matrix.
template <bool kUpper>
struct Triangle : Operator {
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, std::int64_t) {
    if (self.dim() < 2) fail(kUpper ? "triu" : "tril", "expected at least 2 dimensions, got ", self);
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t diagonal) {
    kernels_for<ArrangeKernels>(out.device()).triangle(out, self, diagonal, kUpper);
  }
  static Tensor backward(const Saved&, const Tensor& grad, std::int64_t diagonal) {
    return kUpper ? triu(grad, diagonal) : tril(grad, diagonal);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), 0);
    s(s.rand({2, 4, 3}), 1);
    s(s.rand({3, 3}), -2);
    s(s.rand({0, 3}), 0);
  }
};

struct Tril : Triangle<false> {
  static constexpr Schema schema{
      "tril", {"self", "diagonal"}, "zero above the given diagonal of every matrix"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t) = &halftone::tril;
};
HALFTONE_REGISTER_OPERATOR(Tril)

struct Triu : Triangle<true> {
  static constexpr Schema schema{
      "triu", {"self", "diagonal"}, "zero below the given diagonal of every matrix"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t) = &halftone::triu;
};
HALFTONE_REGISTER_OPERATOR(Triu)

}  // namespace ops

Tensor cat(const TensorList& tensors, std::int64_t dim) { return ops::dispatch<ops::Cat>(tensors, dim); }

Tensor concat(const TensorList& tensors, std::int64_t dim) { return cat(tensors, dim); }

Tensor stack(const TensorList& tensors, std::int64_t dim) { return ops::dispatch<ops::Stack>(tensors, dim); }

Tensor flip(const Tensor& self, IntArrayRef dims) { return ops::dispatch<ops::Flip>(self, dims); }

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  if (!dims.empty() || shifts.size() != 1) return ops::dispatch<ops::Roll>(self, shifts, dims);
  return view(roll(flatten(self), shifts, 0), self.sizes());
}

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  const std::size_t rank = repeats.size();
  if (static_cast<std::int64_t>(rank) < self.dim()) {
    fail("repeat", "expected a count for each of the ", self.dim(), " dimensions of ", self, ", got ",
         repeats);
  }
  for (std::int64_t count : repeats) {
    if (count < 0) fail("repeat", "counts must not be negative, got ", repeats);
  }
  // At most three dimensions at once: each takes two of the expanded tensor's.
  Dims now = repeats.dims(), later(rank, 1);
  int repeated = 0;
  for (std::size_t d = rank; d-- > 0;) {
    if (repeats[d] != 1 && ++repeated > 3) std::swap(now[d], later[d]);
  }
  if (repeated > 3) return repeat(repeat(self, now), later);

  Dims sizes(rank, 1);
  std::copy(self.sizes().begin(), self.sizes().end(), sizes.begin() + (rank - self.sizes().size()));
  Dims from{1}, to{1};
  for (std::size_t d = 0; d < rank; ++d) {
    if (repeats[d] != 1) {
      from.push_back(1);
      to.push_back(repeats[d]);
      from.push_back(1);
      to.push_back(1);
    }
    from.back() *= sizes[d];
    to.back() *= sizes[d];
    sizes[d] *= repeats[d];
  }
  return view(clone(expand(reshape(self, from), to)), sizes);
}

Tensor repeat_interleave(const Tensor& self, std::int64_t repeats, std::optional<std::int64_t> dim) {
  if (repeats < 0) fail("repeat_interleave", "repeats must not be negative, got ", repeats);
  if (!dim) return repeat_interleave(flatten(self), repeats, 0);
  const std::int64_t d = wrap_dim("repeat_interleave", *dim, self.dim());
  if (self.dim() == 0) fail("repeat_interleave", "a 0-d tensor has no dimension ", *dim);
  Dims sizes = self.sizes().dims();
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i <= d; ++i) outer *= self.size(i);
  for (std::int64_t i = d + 1; i < self.dim(); ++i) inner *= self.size(i);
  sizes[static_cast<std::size_t>(d)] *= repeats;
  return view(clone(expand(reshape(self, {outer, 1, inner}), {outer, repeats, inner})), sizes);
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<std::int64_t> dim) {
  if (repeats.dim() > 1 || (repeats.scalar_type() != kLong && repeats.scalar_type() != kInt))
    fail("repeat_interleave", "repeats must be a vector of integers, got ", repeats);
  if (!dim) return repeat_interleave(flatten(self), repeats, 0);
  const std::int64_t d = wrap_dim("repeat_interleave", *dim, self.dim());
  if (self.dim() == 0) fail("repeat_interleave", "a 0-d tensor has no dimension ", *dim);
  if (repeats.numel() == 1) return repeat_interleave(self, repeats.item<std::int64_t>(), d);
  if (repeats.numel() != self.size(d))
    fail("repeat_interleave", "expected ", self.size(d), " repeats for dimension ", *dim, " of ", self,
         ", got ", repeats);
  if (repeats.numel() == 0) return clone(self);
  if (min(repeats).item<std::int64_t>() < 0) fail("repeat_interleave", "repeats must not be negative");
  const Tensor ends = cumsum(repeats, 0);
  const Tensor places = arange(select(ends, 0, -1).item<std::int64_t>(), ends.options());
  return index_select(self, d, searchsorted(ends, places, false, true));
}

Tensor tril(const Tensor& self, std::int64_t diagonal) { return ops::dispatch<ops::Tril>(self, diagonal); }

Tensor triu(const Tensor& self, std::int64_t diagonal) { return ops::dispatch<ops::Triu>(self, diagonal); }

}  // namespace halftone
