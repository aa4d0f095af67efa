#include "halftone/nn/module.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdlib>
#include <ostream>
#include <typeinfo>
#include <unordered_set>

#include "halftone/autograd/node.h"
#include "halftone/engine/archive.h"
#include "halftone/nn/layer_text.h"
#include "halftone/nn/type_name.h"

namespace halftone::nn {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : type.name();
  std::free(text);
  constexpr std::string_view kOwn = "halftone::nn::";
  if (result.starts_with(kOwn)) result.replace(0, kOwn.size(), kLayerPrefix);
  return result;
}

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const char* what, const std::string& name) {
  if (name.empty()) fail("Module", "a ", what, " needs a name");
  if (name.find('.') != std::string::npos)
    fail("Module", what, " name '", name, "' may not contain a dot: dots separate the levels of the model");
}

void print_tree(std::ostream& stream, const Module& module, const std::string& indentation) {
  module.pretty_print(stream);
  const auto children = module.named_children();
  if (children.is_empty()) return;
  stream << "(\n";
  for (const auto& child : children) {
    stream << indentation << "  (" << child.key() << "): ";
    print_tree(stream, *child.value(), indentation + "  ");
    stream << '\n';
  }
  stream << indentation << ')';
}

}  // namespace

Module::Module(std::string name) : name_(std::move(name)) {}
Module::Module() = default;
Module::Module(const Module&) = default;
Module& Module::operator=(const Module&) = default;
Module::~Module() = default;

const std::string& Module::name() const {
  if (name_.empty()) name_ = type_name(typeid(*this));
  return name_;
}

void Module::visit(const std::string& prefix,
                   const std::function<void(const std::string&, const Module&)>& function) const {
  std::unordered_set<const Module*> seen;
  const std::function<void(const std::string&, const Module&)> walk = [&](const std::string& at,
                                                                          const Module& module) {
    if (!seen.insert(&module).second) return;
    function(at, module);
    for (const auto& child : module.children_) walk(join(at, child.key()), *child.value());
  };
  walk(prefix, *this);
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> result("parameter");
  std::unordered_set<const TensorImpl*> seen;
  const auto collect = [&](const std::string& prefix, const Module& module) {
    for (const auto& item : module.parameters_) {
      if (item.value().defined() && seen.insert(item.value().unsafe_impl()).second)
        result.insert(join(prefix, item.key()), item.value());
    }
  };
  if (recurse) {
    visit({}, collect);
  } else {
    collect({}, *this);
  }
  return result;
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> result("buffer");
  std::unordered_set<const TensorImpl*> seen;
  const auto collect = [&](const std::string& prefix, const Module& module) {
    for (const auto& item : module.buffers_) {
      if (item.value().defined() && seen.insert(item.value().unsafe_impl()).second)
        result.insert(join(prefix, item.key()), item.value());
    }
  };
  if (recurse) {
    visit({}, collect);
  } else {
    collect({}, *this);
  }
  return result;
}

std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> result("module");
  visit(name_prefix, [&](const std::string& at, const Module& module) {
    if (&module == this && !include_self) return;
    if (auto shared = std::const_pointer_cast<Module>(module.weak_from_this().lock()))
      result.insert(at, shared);
  });
  return result;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> result("state entry");
  for (const auto& item : named_parameters()) result.insert(item.key(), item.value().detach());
  for (const auto& item : named_buffers()) result.insert(item.key(), item.value());
  return result;
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : state_dict()) archive.write(item.key(), item.value());
}

void Module::load(serialize::InputArchive& archive) {
  OrderedDict<std::string, Tensor> state("state entry");
  for (const auto& [name, value] : archive.state()) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) state.insert(name, *tensor);
  }
  load_state_dict(state);
}

void Module::load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict) {
  OrderedDict<std::string, Tensor> own = named_parameters();
  own.update(named_buffers());
  for (const auto& item : own) {
    const Tensor* value = state.find(item.key());
    if (!value || !value->defined()) {
      if (strict)
        fail("Module::load_state_dict", name(), " has '", item.key(), "', which the state does not have");
      continue;
    }
    if (value->sizes() != item.value().sizes() ||
        value->is_floating_point() != item.value().is_floating_point())
      fail("Module::load_state_dict", "'", item.key(), "' is ", item.value(), ", the state has ", *value);
  }
  if (strict) {
    for (const auto& item : state) {
      if (!own.contains(item.key()))
        fail("Module::load_state_dict", "the state has '", item.key(), "', which ", name(), " does not have");
    }
  }
  NoGradGuard no_grad;
  for (auto& item : own) {
    if (const Tensor* value = state.find(item.key()); value && value->defined()) item.value().copy_(*value);
  }
}

void Module::check_free(const std::string& name) const {
  const char* const taken = parameters_.contains(name) ? "parameter" : "buffer";
  if (parameters_.contains(name) || buffers_.contains(name)) {
    fail("Module", taken, " '", name, "' is already defined in ", this->name());
  }
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("parameter", name);
  check_free(name);
  if (tensor.defined()) {
    if (!tensor.is_leaf())
      fail("Module", "parameter '", name, "' is the result of a recorded operator: register tensor.detach()");
    if (requires_grad && !tensor.is_floating_point())
      fail("Module", "parameter '", name, "' is ", tensor,
           ": only floating tensors take gradients; pass requires_grad=false or register a buffer");
    tensor.set_requires_grad(requires_grad);
    tensor.storage().set_category(MemoryCategory::kParameter);
    autograd::meta_of(tensor).name = name;
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("buffer", name);
  check_free(name);
  if (tensor.defined()) tensor.storage().set_category(MemoryCategory::kParameter);
  return buffers_.insert(std::move(name), std::move(tensor));
}

namespace {

/// Parameters are called by their full path in messages.
void rename_parameters(const std::string& prefix, const Module& module) {
  for (const auto& item : module.named_parameters())
    autograd::meta_of(item.value()).name = join(prefix, item.key());
}

}  // namespace

std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }
void Module::unregister_module(const std::string& name) { children_.erase(name); }

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("submodule", name);
  if (!module) fail("Module", "submodule '", name, "' is null");
  rename_parameters(name, *module);
  children_.insert(std::move(name), std::move(module));
}

void Module::swap_child(const std::string& name, std::shared_ptr<Module> module) {
  if (!module) fail("Module", "submodule '", name, "' is null");
  rename_parameters(name, *module);
  children_[name] = std::move(module);
}

void Module::train(bool on) {
  is_training_ = on;
  for (auto& child : children_) child.value()->train(on);
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) autograd::clear_gradient(parameter, set_to_none);
}

void Module::apply(const std::function<void(Module&)>& function) {
  function(*this);
  for (auto& child : children_) child.value()->apply(function);
}

void Module::apply(const std::function<void(const std::string&, Module&)>& function,
                   const std::string& name_prefix) {
  function(name_prefix, *this);
  for (auto& child : children_) child.value()->apply(function, join(name_prefix, child.key()));
}

std::shared_ptr<Module> Module::clone(const optional<Device>&) const {
  fail("Module::clone", name(), " cannot be copied: derive it from nn::Cloneable<> and register in reset()");
}

void Module::pretty_print(std::ostream& stream) const { stream << name(); }

std::shared_ptr<Module> Module::finish_clone(Module* copy, void (*reset)(Module&),
                                             const optional<Device>& device) const {
  std::shared_ptr<Module> result(copy);
  copy->parameters_.clear();
  copy->buffers_.clear();
  copy->children_.clear();
  copy->weight_norms_.clear();
  const PhiloxState stream = default_generator().state();  // initial values are overwritten: draw none
  reset(*copy);
  default_generator().set_state(stream);
  copy->match_weight_norms(*this);
  copy->copy_values_from(*this, device);
  return result;
}

void Module::copy_values_from(const Module& other, const optional<Device>& device) {
  NoGradGuard no_grad;
  const auto replace = [&](OrderedDict<std::string, Tensor> mine,
                           const OrderedDict<std::string, Tensor>& theirs) {
    if (mine.size() != theirs.size())
      fail("Module::clone", name(), "::reset() registers ", mine.size(), " tensors, the original has ",
           theirs.size());
    for (auto& item : mine) {
      const Tensor& value = theirs[item.key()];
      Tensor copy = value.detach().clone();
      if (device) copy = copy.to(*device);
      item.value().set_data(copy);
      item.value().storage().set_category(MemoryCategory::kParameter);
      if (value.is_floating_point()) item.value().set_requires_grad(value.requires_grad());
    }
  };
  replace(named_parameters(), other.named_parameters());
  replace(named_buffers(), other.named_buffers());
  train(other.is_training());
}

void Module::check_fits_half() const {
  const double largest = max_value(kHalf);
  for (const auto& item : named_parameters()) {
    const Tensor& p = item.value();
    if (p.numel() == 0 || !p.is_floating_point() || p.scalar_type() == kHalf) continue;
    const Tensor magnitudes = p.detach().abs();
    const Tensor lost = logical_and(magnitudes.isfinite(), magnitudes.gt(largest));
    if (!lost.any().item<bool>()) continue;
    fail("Module::to", "'", item.key(), "' holds ", where(lost, magnitudes, 0.0).max().item<double>(),
         ", which float16 cannot represent (largest ", largest,
         "). Keep the weights in fp32 and run the forward pass under amp::Autocast, or convert to bfloat16");
  }
}

void Module::convert(optional<Device> device, optional<Dtype> dtype, bool non_blocking) {
  if (dtype && !halftone::is_floating_point(*dtype))
    fail("Module::to", "a model can be converted to a floating dtype, got ", *dtype);
  NoGradGuard no_grad;
  if (dtype == kHalf) check_fits_half();
  const auto moved = [&](const Tensor& tensor, bool keep_precision) {
    Dtype to = tensor.is_floating_point() && dtype ? *dtype : tensor.scalar_type();
    if (keep_precision && is_low_precision(to)) to = kFloat;
    return tensor.detach().to(device.value_or(tensor.device()), to, non_blocking);
  };
  for (const Tensor& parameter : parameters()) {
    const Tensor data = moved(parameter, false);
    if (data.unsafe_impl()->storage.get() == parameter.unsafe_impl()->storage.get()) continue;
    parameter.set_data(data);
    parameter.storage().set_category(MemoryCategory::kParameter);
    autograd::TensorMeta& meta = autograd::meta_of(parameter);
    if (meta.grad.defined())
      meta.grad =
          meta.grad.detach().to(parameter.device(), meta.grad_dtype.value_or(parameter.scalar_type()));
  }
  visit({}, [&](const std::string&, const Module& module) {
    for (const auto& item : module.buffers_) {
      if (!item.value().defined()) continue;
      const Tensor data = moved(item.value(), module.keeps_precision(item.key()));
      if (data.unsafe_impl()->storage.get() == item.value().unsafe_impl()->storage.get()) continue;
      item.value().set_data(data);
      item.value().storage().set_category(MemoryCategory::kParameter);
    }
  });
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  print_tree(stream, module, "");
  return stream;
}

}  // namespace halftone::nn
