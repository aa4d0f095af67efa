#include "halftone/tests/support/samples.h"

#include <cstring>

namespace halftone::test {

std::vector<Value> map_tensors(const std::vector<Value>& args,
                               const std::function<Tensor(const Tensor&)>& f) {
  std::vector<Value> mapped;
  for (const Value& arg : args) {
    if (auto* tensor = std::get_if<Tensor>(&arg)) {
      mapped.emplace_back(tensor->defined() ? f(*tensor) : Tensor());
    } else if (auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
      std::vector<Tensor> tensors;
      for (const Tensor& tensor : *list) tensors.push_back(tensor.defined() ? f(tensor) : Tensor());
      mapped.emplace_back(std::move(tensors));
    } else {
      mapped.push_back(arg);
    }
  }
  return mapped;
}

std::vector<Tensor> floating_tensors(const std::vector<Value>& args) {
  std::vector<Tensor> found;
  map_tensors(args, [&](const Tensor& tensor) {
    if (tensor.is_floating_point()) found.push_back(tensor);
    return tensor;
  });
  return found;
}

std::vector<Value> copy_args(const std::vector<Value>& args, ScalarType dtype, bool requires_grad,
                             Device device) {
  return map_tensors(args, [&](const Tensor& tensor) {
    const ScalarType to = tensor.is_floating_point() ? dtype : tensor.scalar_type();
    Tensor copy = tensor.detach().to(device, to, /*non_blocking=*/false, /*copy=*/true);
    if (!tensor.is_floating_point()) return copy;
    copy.requires_grad_(requires_grad);
    return copy;
  });
}

double value_at(const Tensor& tensor, std::int64_t flat) {
  if (tensor.is_cuda()) return value_at(tensor.detach().cpu(), flat);
  std::int64_t offset = 0;
  for (std::int64_t d = tensor.dim() - 1; d >= 0; --d) {
    offset += flat % tensor.size(d) * tensor.stride(d);
    flat /= tensor.size(d);
  }
  return dispatch_all(tensor.scalar_type(), [&]<class T>() {
    return static_cast<double>(static_cast<const T*>(tensor.data_ptr())[offset]);
  });
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor left = a.detach().cpu(), right = b.detach().cpu();
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double x = value_at(left, i), y = value_at(right, i);
    if (x != x && y != y) continue;
    if (std::memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

std::string label(const OpInfo& op, std::size_t sample) { return concat(op.name, " sample ", sample); }

bool is_random(const OpInfo& op) {
  const std::string name = op.name;
  return name == "dropout" || name == "bernoulli" || name == "multinomial";
}

}  // namespace halftone::test
