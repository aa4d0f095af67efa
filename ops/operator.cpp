#include "halftone/ops/operator.h"

namespace halftone::ops {

Meta like(const Tensor& x, IntArrayRef sizes, OptionalDtype dtype) {
  Meta meta = like(x, sizes, dtype.value_or(x.scalar_type()));
  meta.explicit_dtype = dtype.has_value();
  return meta;
}

Tensor allocate(const Meta& meta) {
  const std::int64_t numel = count_elements(meta.sizes);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(numel, static_cast<std::int64_t>(element_size(meta.dtype)), &bytes)) {
    fail("allocate", "the size in bytes of ", meta.dtype, meta.sizes, " does not fit into 64 bits");
  }
  auto storage = make_intrusive<Storage>(static_cast<std::size_t>(bytes), meta.device);
  return Tensor(make_intrusive<TensorImpl>(std::move(storage), meta.dtype, meta.sizes, numel));
}

Tensor Saved::input(int i) const {
  if (keep_.inputs[i] == 0)
    fail(node_.name(), "gradient rule reads input ", i, ", which the operator does not keep");
  return inputs_[i].unpack(node_, "input", i);
}

Tensor Saved::result(int i) const {
  if (keep_.results[i] == 0)
    fail(node_.name(), "gradient rule reads result ", i, ", which the operator does not keep");
  return results_[i].unpack(node_, "result", i);
}

std::uint32_t RecordedNode::wanted_mask() const {
  std::uint32_t mask = 0;
  const std::size_t count = std::min<std::size_t>(next_edges().size(), 32);
  for (std::size_t i = 0; i < count; ++i) mask |= next_edges()[i] ? 1u << i : 0u;
  return mask;
}

void RecordedNode::save_inputs(const Keep& keep, const TensorRefs& inputs) {
  const std::uint32_t wanted = wanted_mask();
  for (std::size_t i = 0; i < inputs.size() && i < keep.inputs.size(); ++i) {
    if ((keep.inputs[i] & wanted) && inputs[i]->defined())
      inputs_[i] = autograd::SavedTensor(*inputs[i], false);
  }
}

void RecordedNode::save_result(const Keep& keep, const Tensor& result, std::uint32_t output_nr) {
  if (output_nr < keep.results.size() && (keep.results[output_nr] & wanted_mask())) {
    results_[output_nr] = autograd::SavedTensor(result, true, output_nr);
  }
}

void RecordedNode::release_saved() {
  for (auto& saved : inputs_) saved.reset();
  for (auto& saved : results_) saved.reset();
  released_ = true;
}

void RecordedNode::visit_saved(const std::function<void(const Tensor&)>& visit) const {
  for (const auto& saved : inputs_) {
    if (saved.defined()) visit(saved.raw());
  }
  for (const auto& saved : results_) {
    if (saved.defined()) visit(saved.raw());
  }
}

void RecordedNode::check_not_released() const {
  if (released_) {
    fail(name(),
         "backward ran through this graph a second time, after what it kept was freed; "
         "call backward with retain_graph = true the first time");
  }
}

Tensor copied_to_fp32(const Tensor& tensor) {
  if (!tensor.defined() || tensor.unsafe_impl()->is_wrapped_number) return tensor;
  NoGradGuard no_grad;
  const Tensor value = tensor.detach();
  return is_low_precision(value.scalar_type()) ? to_dtype(value, kFloat) : clone(value);
}

void check_inplace_result(const char* op, const Tensor& self, const Meta& meta) {
  if (!(meta.sizes == self.sizes().dims())) {
    fail(op, "in place: the result has shape ", meta.sizes, " but is to be written into ", self);
  }
  const auto kind = [](ScalarType dtype) { return dtype == kBool ? 0 : is_floating_point(dtype) ? 2 : 1; };
  if (kind(meta.dtype) > kind(self.scalar_type())) {
    fail(op, "in place: a ", meta.dtype, " result cannot be written into ", self);
  }
}

Tensor without_overlap(const Tensor& self, const Tensor& arg) {
  if (!arg.defined() || &arg.storage() != &self.storage()) return arg;
  const bool same = arg.storage_offset() == self.storage_offset() && arg.sizes() == self.sizes() &&
                    arg.strides() == self.strides() && arg.scalar_type() == self.scalar_type();
  return same ? arg : clone(arg);
}

}  // namespace halftone::ops
