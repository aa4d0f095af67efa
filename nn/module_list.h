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
  /// Throws Error when the index is out of range.
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  /// Throws Error when the index is out of range, or the module is of another type.
  template <class ModuleType>
  ModuleType& at(std::size_t index) const {
    return detail::module_as<ModuleType>(*ptr(index));
  }
  /// The same as a shared pointer.
  template <class ModuleType>
  std::shared_ptr<ModuleType> ptr(std::size_t index) const {
    at<ModuleType>(index);
    return std::static_pointer_cast<ModuleType>(ptr(index));
  }
  /// Puts a module before the one at `index`; those after it are renamed.
  template <class M>
  void insert(std::size_t index, M&& module) {
    insert_shared(index, detail::shared_module(std::forward<M>(module)));
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  void append(std::shared_ptr<Module> module);
  void insert_shared(std::size_t index, std::shared_ptr<Module> module);

  std::vector<std::shared_ptr<Module>> modules_;
};
HALFTONE_MODULE(ModuleList);

/// Submodules by name, in order of insertion; has no forward of its own. Iterating gives items with key() and
/// value().
class ModuleDictImpl : public Module {
 public:
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);

  /// Replaces a module of the same key.
  template <class M>
  void insert(std::string key, M&& module) {
    insert_shared(key, detail::shared_module(std::forward<M>(module)));
  }
  /// Inserts all of them; those of the same keys are replaced.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  /// From another ModuleDict or an OrderedDict.
  template <class Container>
  void update(const Container& container) {
    for (const auto& item : container) insert_shared(item.key(), item.value());
  }
  /// Takes a module out. Throws Error when the key is not there.
  std::shared_ptr<Module> pop(const std::string& key);
  void clear();

  std::size_t size() const { return modules_.size(); }
  bool empty() const { return modules_.is_empty(); }
  bool contains(const std::string& key) const;
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }
  std::vector<std::string> keys() const;
  std::vector<std::shared_ptr<Module>> values() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const;
  /// Throws Error when the key is not there.
  std::shared_ptr<Module> operator[](const std::string& key) const;
  /// Throws Error when the key is not there, or the module is of another type.
  template <class ModuleType>
  ModuleType& at(const std::string& key) const {
    return detail::module_as<ModuleType>(*(*this)[key]);
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  void insert_shared(const std::string& key, std::shared_ptr<Module> module);

  OrderedDict<std::string, std::shared_ptr<Module>> modules_{"key"};
};
HALFTONE_MODULE(ModuleDict);

}  // namespace halftone::nn
