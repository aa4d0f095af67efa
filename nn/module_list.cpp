#include "halftone/nn/module_list.h"

#include <ostream>

namespace halftone::nn {

void ModuleListImpl::append(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), module);
  modules_.push_back(std::move(module));
}

std::shared_ptr<Module> ModuleListImpl::ptr(std::size_t index) const {
  if (index >= size())
    fail("ModuleList", "index ", index, " is out of range: there are ", size(), " modules");
  return modules_[index];
}

std::shared_ptr<Module> ModuleListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->append(module->clone(device));
  copy->train(is_training());
  return copy;
}

void ModuleListImpl::pretty_print(std::ostream& stream) const { stream << "ModuleList"; }

void ModuleDictImpl::update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  for (const auto& item : modules) register_module(item.key(), item.value());
}

std::shared_ptr<Module> ModuleDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : named_children()) copy->register_module(item.key(), item.value()->clone(device));
  copy->train(is_training());
  return copy;
}

void ModuleDictImpl::pretty_print(std::ostream& stream) const { stream << "ModuleDict"; }

}  // namespace halftone::nn
