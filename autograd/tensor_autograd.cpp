// Tensor's methods that concern gradients.

#include "halftone/autograd/autograd.h"

namespace halftone {

using autograd::find_meta;
using autograd::meta_of;
using autograd::TensorMeta;

bool Tensor::requires_grad() const { return autograd::wants_grad(impl()); }

bool Tensor::is_leaf() const { return autograd::grad_fn(*this) == nullptr; }

IntrusivePtr<autograd::Node> Tensor::grad_fn() const {
  return IntrusivePtr<autograd::Node>(autograd::grad_fn(*this));
}

const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  TensorImpl& impl = this->impl();
  if (requires_grad && !is_floating_point()) {
    fail("requires_grad_", "only floating tensors have gradients, got ", *this);
  }
  if (!is_leaf()) {
    if (requires_grad) return *this;
    fail("requires_grad_", "cannot be switched off on the result of an operator; use detach()");
  }
  impl.requires_grad = requires_grad;
  if (requires_grad) meta_of(*this);  // here, since threads that share the leaf would each make one
  return *this;
}

Tensor& Tensor::set_requires_grad(bool requires_grad) {
  requires_grad_(requires_grad);
  return *this;
}

Tensor& Tensor::mutable_grad() const { return meta_of(*this).grad; }

const Tensor& Tensor::grad() const {
  static const Tensor undefined;
  const TensorMeta* meta = defined() ? find_meta(*this) : nullptr;
  impl();
  return meta ? meta->grad : undefined;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  autograd::backward(*this, gradient.defined() ? TensorList(gradient) : TensorList(), retain_graph,
                     create_graph);
}

Tensor Tensor::detach() const {
  const TensorImpl& impl = this->impl();
  return Tensor(make_intrusive<TensorImpl>(impl.storage, impl.dtype, impl.sizes, impl.strides, impl.offset));
}

Tensor& Tensor::detach_() {
  TensorImpl& impl = this->impl();
  if (impl.view_base) fail("detach_", "a view cannot be detached in place; use detach()");
  impl.grad_fn = nullptr;
  impl.requires_grad = false;
  return *this;
}

void Tensor::set_data(const Tensor& new_data) const {
  TensorImpl& impl = this->impl();
  const TensorImpl& from = new_data.impl();
  impl.storage = from.storage;
  impl.sizes = from.sizes;
  impl.strides = from.strides;
  impl.offset = from.offset;
  impl.numel = from.numel;
  impl.dtype = from.dtype;
  impl.is_contiguous = from.is_contiguous;
  impl.view_base = nullptr;
  if (TensorMeta* meta = find_meta(*this)) {
    meta->leaf = {impl.sizes, impl.dtype, impl.storage->device()};
    meta->shadow.reset();
  }
}

void Tensor::retain_grad() const {
  if (!requires_grad()) fail("retain_grad", "the tensor does not require grad");
  if (is_leaf()) return;
  TensorMeta& meta = meta_of(*this);
  if (meta.retains_grad) return;
  meta.retains_grad = true;
  // The hook holds the meta, never the tensor: a tensor holds its grad_fn, which holds the hook.
  autograd::grad_fn(*this)->add_hook(impl().output_nr,
                                     [kept = IntrusivePtr<TensorMeta>(&meta)](Tensor gradient) {
                                       kept->grad = kept->grad.defined() ? kept->grad + gradient : gradient;
                                       return Tensor();
                                     });
}

bool Tensor::retains_grad() const {
  const TensorMeta* meta = find_meta(*this);
  return meta && meta->retains_grad;
}

unsigned Tensor::register_hook(std::function<Tensor(Tensor)> hook) const {
  if (!requires_grad()) fail("register_hook", "the tensor does not require grad");
  if (autograd::Node* node = autograd::grad_fn(*this))
    return node->add_hook(impl().output_nr, std::move(hook));
  return meta_of(*this).add_hook(0, std::move(hook));
}

void Tensor::remove_hook(unsigned number) const {
  if (autograd::Node* node = autograd::grad_fn(*this)) {
    node->remove_hook(number);
  } else if (TensorMeta* meta = find_meta(*this)) {
    meta->remove_hook(number);
  }
}

}  // namespace halftone
