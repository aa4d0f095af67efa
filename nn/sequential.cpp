#include "halftone/nn/sequential.h"

#include <ostream>

#include "halftone/nn/layer_text.h"

namespace halftone::nn {

FunctionalImpl::FunctionalImpl(std::function<Tensor(Tensor)> function) : function_(std::move(function)) {
  if (!function_) fail("Functional", "the function is empty");
}

std::shared_ptr<Module> FunctionalImpl::clone(const optional<Device>&) const {
  return std::make_shared<FunctionalImpl>(function_);
}

void FunctionalImpl::pretty_print(std::ostream& stream) const { stream << kLayerPrefix << "Functional()"; }

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const NamedAnyModule& item : modules) append(item.name, item.module);
}

SequentialImpl::SequentialImpl(const OrderedDict<std::string, AnyModule>& modules) {
  for (const auto& item : modules) append(item.key(), item.value());
}

Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<Impl>(modules)) {}

Tensor SequentialImpl::forward(Tensor input) {
  check_not_empty();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].takes_tensor()) {
      input = steps_[i].forward(input);
      continue;
    }
    // From here on values have any types.
    std::vector<AnyValue> values{AnyValue(std::move(input))};
    for (; i < steps_.size(); ++i) values = {steps_[i].forward_values(std::move(values))};
    return values[0].get<Tensor>();
  }
  return input;
}

AnyValue SequentialImpl::forward_values(std::vector<AnyValue> inputs) const {
  check_not_empty();
  for (const AnyModule& step : steps_) inputs = {step.forward_values(std::move(inputs))};
  return inputs[0];
}

void SequentialImpl::check_not_empty() const {
  if (steps_.empty()) fail("Sequential", "cannot call forward() on an empty Sequential");
}

void SequentialImpl::append(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  steps_.push_back(std::move(module));
}

const AnyModule& SequentialImpl::step(std::size_t index) const {
  if (index >= steps_.size())
    fail("Sequential", "index ", index, " is out of range: there are ", size(), " modules");
  return steps_[index];
}

std::shared_ptr<Module> SequentialImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  const auto names = named_children().keys();
  for (std::size_t i = 0; i < steps_.size(); ++i) copy->append(names[i], steps_[i].clone(device));
  copy->train(is_training());
  return copy;
}

void SequentialImpl::pretty_print(std::ostream& stream) const { stream << kLayerPrefix << "Sequential"; }

}  // namespace halftone::nn
