#pragma once

#include <string>
#include <vector>

#include "halftone/nn/module_holder.h"

namespace halftone::nn {

namespace detail {
/// The shared pointer behind a module, a holder or a shared pointer.
template <class M>
auto shared_module(M&& module) {
  using Type = std::remove_cvref_t<M>;
  if constexpr (requires { typename Type::ContainedType; }) {
    return module.ptr();
  } else if constexpr (std::is_base_of_v<Module, Type>) {
    return std::make_shared<Type>(std::forward<M>(module));
  } else {
    return std::shared_ptr<Module>(std::forward<M>(module));
  }
}

/// `module` as ModuleType. Throws Error when it is another type.
template <class ModuleType>
ModuleType& module_as(Module& module) {
  if (auto* found = dynamic_cast<ModuleType*>(&module)) return *found;
  fail("Module", "the module is a ", module.name(), ", not of the type asked for");
}
}  // namespace detail

/// A list of submodules, named "0", "1", ...; has no forward of its own.
class ModuleListImpl : public Module {
 public:
  ModuleListImpl() = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 &&
           !(sizeof...(Modules) == 1 && (std::is_same_v<std::remove_cvref_t<Modules>, ModuleListImpl> &&
                                         ...))) explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }

  template <class M>
  void push_back(M&& module) {
    append(detail::shared_module(std::forward<M>(module)));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  std::size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }
  /// Throws Error when the index is out of range.
  std::shared_ptr<Module> ptr(std::size_t index) const;
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  template <class ModuleType>
  ModuleType& at(std::size_t index) const {
    return detail::module_as<ModuleType>(*ptr(index));
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  void append(std::shared_ptr<Module> module);

  std::vector<std::shared_ptr<Module>> modules_;
};
HALFTONE_MODULE(ModuleList);

/// Submodules by name, in order of insertion; has no forward of its own.
class ModuleDictImpl : public Module {
 public:
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
    update(modules);
  }

  template <class M>
  void insert(std::string key, M&& module) {
    register_module(std::move(key), detail::shared_module(std::forward<M>(module)));
  }
  void update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);

  std::size_t size() const { return named_children().size(); }
  bool empty() const { return size() == 0; }
  bool contains(const std::string& key) const { return named_children().contains(key); }
  std::vector<std::string> keys() const { return named_children().keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children(); }
  OrderedDict<std::string, std::shared_ptr<Module>> items() const { return named_children(); }
  /// Throws Error when the key is not there.
  std::shared_ptr<Module> operator[](const std::string& key) const { return named_children()[key]; }
  template <class ModuleType>
  ModuleType& at(const std::string& key) const {
    return detail::module_as<ModuleType>(*named_children()[key]);
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;
};
HALFTONE_MODULE(ModuleDict);

}  // namespace halftone::nn
