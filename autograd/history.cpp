// How tensors are tied to the graph: gradient edges, views, and writes in place.

#include "halftone/autograd/saved.h"

namespace halftone::autograd {
namespace {

/// Where a view lies in its base. Gradients have the base's shape; for the window to fit they are laid out as
/// the base is.
class Window {
 public:
  Window(const TensorImpl& view, const TensorImpl& base)
      : sizes_(view.sizes),
        strides_(view.strides),
        offset_(view.offset - base.offset),
        base_(base.sizes, base.strides) {
    if (!base.is_contiguous) {
      elements_ = base.numel == 0 ? 0 : 1;
      for (std::size_t d = 0; d < base.sizes.size(); ++d) elements_ += (base.sizes[d] - 1) * base.strides[d];
    }
  }

  Tensor of(const Tensor& whole) const {
    const Tensor memory = laid_out(whole);
    return as_strided(memory, sizes_, strides_, memory.storage_offset() + offset_);
  }
  Tensor scatter(const Tensor& whole, const Tensor& part) const {
    const Tensor memory = as_strided_scatter(laid_out(whole), part, sizes_, strides_, offset_);
    if (elements_ < 0) return memory;
    return as_strided(memory, base_.first, base_.second, memory.storage_offset());
  }

 private:
  Tensor laid_out(const Tensor& whole) const {
    if (elements_ < 0) return whole.contiguous();
    return as_strided_scatter(zeros({elements_}, whole.options()), whole, base_.first, base_.second, 0);
  }

  Dims sizes_, strides_;
  std::int64_t offset_;  // from the base's first element
  std::pair<Dims, Dims> base_;
  std::int64_t elements_ = -1;  // from the base's first to its last; -1 when it is contiguous
};

/// A view of a base that was written since the view was taken: its history starts from the base as it is now.
class ViewOfWrittenBase final : public Node {
 public:
  ViewOfWrittenBase(const TensorImpl& view, const Tensor& base)
      : Node("as_strided"), window_(view, *base.unsafe_impl()) {
    add_input(base);
  }

  Gradients apply(Gradients output_gradients) override {
    const Tensor& grad = output_gradients[0];
    return {window_.scatter(zeros(input_meta(0).sizes, grad.options()), grad)};
  }

 private:
  Window window_;
};

/// A recorded write into a window of `base`: outside the window the gradient passes, inside it goes through
/// the operator that wrote. Its inputs are the base as it was, then the operator's other inputs.
class WriteThroughView final : public Node {
 public:
  WriteThroughView(const TensorImpl& view, const Tensor& base, IntrusivePtr<Node> writer)
      : Node(writer->name()), window_(view, *base.unsafe_impl()), writer_(std::move(writer)) {
    add_input(base);
    for (std::size_t i = 1; i < writer_->next_edges().size(); ++i) {
      add_edge(writer_->next_edges()[i], writer_->input_meta(i));
    }
  }

  Gradients apply(Gradients output_gradients) override {
    const Tensor& grad = output_gradients[0];
    const Tensor inside = window_.of(grad);
    Gradients gradients = writer_->apply({inside});
    if (next_edges()[0]) {
      const Tensor through =
          gradients[0].defined() ? gradients[0].to(grad.scalar_type()) : zeros_like(inside);
      gradients[0] = window_.scatter(grad, through);
    } else {
      gradients[0] = Tensor();
    }
    return gradients;
  }
  void release_saved() override { writer_->release_saved(); }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    writer_->visit_saved(visit);
  }

 private:
  Window window_;
  IntrusivePtr<Node> writer_;
};

bool is_stale_view(const TensorImpl& impl) {
  return impl.view_base && impl.view_version != impl.storage->version();
}

Tensor alias(const TensorImpl& impl) {
  auto copy = make_intrusive<TensorImpl>(impl.storage, impl.dtype, impl.sizes, impl.strides, impl.offset);
  copy->is_wrapped_number = impl.is_wrapped_number;
  return Tensor(std::move(copy));
}

void copy_edge(const Tensor& from, TensorImpl& to) {
  TensorImpl& impl = *from.unsafe_impl();
  if (grad_fn(from)) {
    to.grad_fn = impl.grad_fn;
    to.output_nr = impl.output_nr;
  } else if (impl.requires_grad) {
    meta_of(from);
    to.requires_grad = true;
    to.meta = impl.meta;
  }
}

}  // namespace

TensorMeta* find_meta(const Tensor& tensor) {
  return tensor.defined() ? static_cast<TensorMeta*>(tensor.unsafe_impl()->meta.get()) : nullptr;
}

TensorMeta& meta_of(const Tensor& tensor) {
  tensor.dim();  // throws when undefined
  TensorImpl& impl = *tensor.unsafe_impl();
  if (!impl.meta) impl.meta = make_intrusive<TensorMeta>(impl);
  return static_cast<TensorMeta&>(*impl.meta);
}

bool wants_grad(const TensorImpl& impl) {
  if (impl.requires_grad || impl.grad_fn) return true;
  return is_stale_view(impl) && wants_grad(*impl.view_base);
}

Node* grad_fn(const Tensor& tensor) {
  TensorImpl& impl = *tensor.unsafe_impl();
  if (is_stale_view(impl) && wants_grad(*impl.view_base)) {
    impl.grad_fn = make_intrusive<ViewOfWrittenBase>(impl, Tensor(impl.view_base));
    impl.output_nr = 0;
    impl.view_version = impl.storage->version();
  }
  return static_cast<Node*>(impl.grad_fn.get());
}

Edge gradient_edge(const Tensor& tensor) {
  if (Node* node = grad_fn(tensor)) return {IntrusivePtr<Node>(node), tensor.unsafe_impl()->output_nr};
  if (!tensor.unsafe_impl()->requires_grad) return {};
  return {IntrusivePtr<Node>(&meta_of(tensor)), 0};
}

void set_history(const Tensor& tensor, const IntrusivePtr<Node>& node, std::uint32_t output_nr) {
  TensorImpl& impl = *tensor.unsafe_impl();
  impl.grad_fn = node;
  impl.output_nr = output_nr;
}

void set_view_of(const Tensor& view, const Tensor& base) {
  if (view.is_same(base)) return;
  TensorImpl& impl = *view.unsafe_impl();
  const TensorImpl& parent = *base.unsafe_impl();
  impl.view_base = parent.view_base ? parent.view_base : base.impl_ptr();
  impl.view_version = impl.storage->version();
}

void check_inplace(const char* op, const Tensor& self, bool recording) {
  self.dim();  // throws when undefined
  const TensorImpl& impl = *self.unsafe_impl();
  for (std::size_t i = 0; i < impl.sizes.size(); ++i) {
    if (impl.sizes[i] > 1 && impl.strides[i] == 0) {
      fail(op, "in place: ", self,
           " is expanded, several of its elements are one in memory; clone() it first");
    }
  }
  if (!recording) return;
  const auto is_trained_leaf = [](const TensorImpl& t) { return t.requires_grad && !t.grad_fn; };
  if (is_trained_leaf(impl) || (impl.view_base && is_trained_leaf(*impl.view_base))) {
    fail(op, "in place: ", self, impl.view_base ? " is a view of a leaf" : " is a leaf",
         " that requires grad; write to it under NoGradGuard, or to a clone()");
  }
}

void rebase_history(const Tensor& self, const IntrusivePtr<Node>& node) {
  TensorImpl& impl = *self.unsafe_impl();
  if (!impl.view_base) {
    set_history(self, node);
    return;
  }
  const Tensor base(impl.view_base);
  set_history(base, make_intrusive<WriteThroughView>(impl, base, node));
  impl.grad_fn = nullptr;  // stale now: made from the base when next asked for
}

Tensor snapshot(const Tensor& tensor) {
  Tensor copy = alias(*tensor.unsafe_impl());
  copy_edge(tensor, *copy.unsafe_impl());
  return copy;
}

Tensor detached_value(const Tensor& tensor) {
  Tensor value;
  {
    NoGradGuard no_grad;
    value = clone(tensor);
  }
  copy_edge(tensor, *value.unsafe_impl());
  return value;
}

SavedTensor::SavedTensor(const Tensor& tensor, bool is_result, std::uint32_t output_nr)
    : tensor_(is_result ? alias(*tensor.unsafe_impl()) : snapshot(tensor)),
      version_(tensor._version()),
      output_nr_(output_nr),
      is_result_(is_result) {
  tensor_.storage().add_saved();
}

void SavedTensor::reset() {
  if (!tensor_.defined()) return;
  tensor_.storage().remove_saved();
  tensor_.reset();
}

Tensor SavedTensor::unpack(Node& owner, const char* which, int position) const {
  if (!tensor_.defined()) return {};
  const Storage& storage = tensor_.storage();
  if (storage.version() != version_) {
    fail(owner.name(), "backward needs its ", which, " ", position, " (", tensor_,
         ") as it was, but it was written in place since: version ", storage.version(), ", expected ",
         version_, storage.last_write() ? concat("; last written by ", storage.last_write()) : std::string(),
         ". Use the out-of-place form of that operator");
  }
  Tensor copy = alias(*tensor_.unsafe_impl());
  if (is_result_) {
    set_history(copy, IntrusivePtr<Node>(&owner), output_nr_);
  } else {
    copy_edge(tensor_, *copy.unsafe_impl());
  }
  return copy;
}

}  // namespace halftone::autograd
