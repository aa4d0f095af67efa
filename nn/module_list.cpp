#include "halftone/nn/module_list.h"

#include <ostream>

#include "halftone/nn/layer_text.h"

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

void ModuleListImpl::pretty_print(std::ostream& stream) const { stream << kLayerPrefix << "ModuleList"; }

void ModuleListImpl::insert_shared(std::size_t index, std::shared_ptr<Module> module) {
  if (index > size()) fail("ModuleList", "cannot insert at ", index, ": there are ", size(), " modules");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), module);
  for (std::size_t i = index; i + 1 < size(); ++i) replace_module(std::to_string(i), modules_[i]);
  register_module(std::to_string(size() - 1), modules_.back());
}

void ModuleDictImpl::insert_shared(const std::string& key, std::shared_ptr<Module> module) {
  if (auto* found = modules_.find(key)) {
    replace_module(key, module);
    *found = std::move(module);
  } else {
    register_module(key, module);
    modules_.insert(key, std::move(module));
  }
}

ModuleDictImpl::ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  update(modules);
}

ModuleDictImpl::ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  update(modules);
}

bool ModuleDictImpl::contains(const std::string& key) const { return modules_.contains(key); }
std::vector<std::string> ModuleDictImpl::keys() const { return modules_.keys(); }
std::vector<std::shared_ptr<Module>> ModuleDictImpl::values() const { return modules_.values(); }
std::vector<std::pair<std::string, std::shared_ptr<Module>>> ModuleDictImpl::items() const {
  return modules_.pairs();
}
std::shared_ptr<Module> ModuleDictImpl::operator[](const std::string& key) const { return modules_[key]; }

void ModuleDictImpl::update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  for (const auto& item : modules) insert_shared(item.first, item.second);
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  std::shared_ptr<Module> module = modules_[key];
  modules_.erase(key);
  unregister_module(key);
  return module;
}

void ModuleDictImpl::clear() {
  for (const std::string& key : keys()) pop(key);
}

std::shared_ptr<Module> ModuleDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : modules_) copy->insert_shared(item.key(), item.value()->clone(device));
  copy->train(is_training());
  return copy;
}

void ModuleDictImpl::pretty_print(std::ostream& stream) const { stream << kLayerPrefix << "ModuleDict"; }

}  // namespace halftone::nn
