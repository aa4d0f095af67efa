#include "halftone/nn/parameter_list.h"

#include <ostream>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/libtorch_names.h"
#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace {

Tensor copy_of(const Tensor& parameter, const optional<Device>& device) {
  const NoGradGuard no_grad;
  Tensor copy = parameter.detach().clone();
  if (device) copy = copy.to(*device);
  return copy.set_requires_grad(parameter.requires_grad());
}

void print(std::ostream& stream, const char* name, const OrderedDict<std::string, Tensor>& parameters) {
  stream << kLayerPrefix << name << "(\n";
  for (const auto& item : parameters) {
    stream << "(" << item.key() << "): Parameter containing: [" << toString(item.value().scalar_type())
           << " of size " << concat(item.value().sizes()) << "]\n";
  }
  stream << ")";
}

}  // namespace

void ParameterListImpl::append(Tensor parameter) {
  const bool requires_grad = parameter.defined() && parameter.requires_grad();
  register_parameter(std::to_string(size()), std::move(parameter), requires_grad);
}

Tensor& ParameterListImpl::at(std::size_t index) {
  if (index >= size()) {
    fail("ParameterList", "index ", index, " is out of range: there are ", size(), " parameters");
  }
  return parameters_[index].value();
}

std::shared_ptr<Module> ParameterListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterListImpl>();
  for (const auto& item : parameters_) copy->append(copy_of(item.value(), device));
  copy->train(is_training());
  return copy;
}

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ParameterList", parameters_);
}

ParameterDictImpl::ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) {
  update(parameters);
}

void ParameterDictImpl::clear() { parameters_.clear(); }
bool ParameterDictImpl::contains(const std::string& key) const { return parameters_.contains(key); }
std::vector<std::string> ParameterDictImpl::keys() const { return parameters_.keys(); }
std::vector<Tensor> ParameterDictImpl::values() const { return parameters_.values(); }
Tensor& ParameterDictImpl::get(const std::string& key) { return parameters_[key]; }
const Tensor& ParameterDictImpl::get(const std::string& key) const { return parameters_[key]; }

Tensor& ParameterDictImpl::insert(std::string key, Tensor parameter) {
  const bool requires_grad = parameter.defined() && parameter.requires_grad();
  return register_parameter(std::move(key), std::move(parameter), requires_grad);
}

Tensor ParameterDictImpl::pop(const std::string& key) {
  Tensor parameter = parameters_[key];
  parameters_.erase(key);
  return parameter;
}

void ParameterDictImpl::update(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) {
    if (Tensor* found = parameters_.find(item.key())) {
      *found = item.value();
    } else {
      insert(item.key(), item.value());
    }
  }
}

std::shared_ptr<Module> ParameterDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterDictImpl>();
  for (const auto& item : parameters_) copy->insert(item.key(), copy_of(item.value(), device));
  copy->train(is_training());
  return copy;
}

void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ParameterDict", parameters_);
}

}  // namespace halftone::nn
