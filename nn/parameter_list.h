#pragma once

#include <string>
#include <vector>

#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// A list of parameters, named "0", "1", ...; each takes gradients if its tensor asked for them. Iterating
/// gives items with key() and value().
class ParameterListImpl : public Module {
 public:
  ParameterListImpl() = default;
  template <class... Tensors>
  requires(sizeof...(Tensors) > 0 && (std::is_convertible_v<Tensors, Tensor> &&
                                      ...)) explicit ParameterListImpl(Tensors&&... parameters) {
    (append(std::forward<Tensors>(parameters)), ...);
  }

  /// Adds a parameter at the end.
  void append(Tensor parameter);
  void append(const OrderedDict<std::string, Tensor>::Item& item) { append(item.value()); }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& parameter : container) append(parameter);
  }

  std::size_t size() const { return parameters_.size(); }
  bool is_empty() const { return parameters_.is_empty(); }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  /// Throws Error when the index is out of range.
  Tensor& at(std::size_t index);
  const Tensor& at(std::size_t index) const { return const_cast<ParameterListImpl*>(this)->at(index); }
  /// The same as at().
  Tensor& operator[](std::size_t index) { return at(index); }
  const Tensor& operator[](std::size_t index) const { return at(index); }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;
};
HALFTONE_MODULE(ParameterList);

/// Parameters by name, in order of insertion. Iterating gives items with key() and value().
class ParameterDictImpl : public Module {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters);

  /// Throws Error when the key is there already.
  Tensor& insert(std::string key, Tensor parameter);
  /// Takes a parameter out. Throws Error when the key is not there.
  Tensor pop(const std::string& key);
  /// Replaces parameters of the same keys, adds the others.
  void update(const OrderedDict<std::string, Tensor>& parameters);
  void update(const ParameterDictImpl& other) { update(other.parameters_); }
  void clear();

  std::size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.is_empty(); }
  bool contains(const std::string& key) const;
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::vector<std::string> keys() const;
  std::vector<Tensor> values() const;
  /// Each throws Error when the key is not there.
  Tensor& get(const std::string& key);
  const Tensor& get(const std::string& key) const;
  /// The same as get().
  Tensor& operator[](const std::string& key) { return get(key); }
  const Tensor& operator[](const std::string& key) const { return get(key); }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;
};
HALFTONE_MODULE(ParameterDict);

}  // namespace halftone::nn
