#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "halftone/nn/any_module.h"

namespace halftone::nn {

/// Modules run one after the other. Takes modules, holders and functions of one tensor, nested Sequentials
/// too; they are named "0", "1", ... or as given: `Sequential({{"fc", Linear(4, 3)}, {"act", ReLU()}})`.
class SequentialImpl : public Module {
 public:
  SequentialImpl() = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 && (std::is_constructible_v<AnyModule, Modules> && ...) &&
           !(sizeof...(Modules) == 1 && (std::same_as<std::remove_cvref_t<Modules>, SequentialImpl> &&
                                         ...))) explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  explicit SequentialImpl(const OrderedDict<std::string, AnyModule>& modules);

  /// Each step gets what the one before gave. Throws Error when there are no steps.
  Tensor forward(Tensor input);
  /// The same for steps of other types: `model->forward<int>(x)`, `model->forward(x, y)`.
  template <class ReturnType, class... Inputs>
  ReturnType forward(Inputs&&... inputs) {
    std::vector<AnyValue> values;
    (values.push_back(AnyValue(std::forward<Inputs>(inputs))), ...);
    return forward_values(std::move(values)).template get<ReturnType>();
  }
  template <class First, class Second, class... Rest>
  Tensor forward(First&& first, Second&& second, Rest&&... rest) {
    std::vector<AnyValue> values{AnyValue(std::forward<First>(first)),
                                 AnyValue(std::forward<Second>(second))};
    (values.push_back(AnyValue(std::forward<Rest>(rest))), ...);
    return forward_values(std::move(values)).template get<Tensor>();
  }

  template <class M>
  requires std::is_constructible_v<AnyModule, M>
  void push_back(M&& module) { push_back(std::to_string(size()), std::forward<M>(module)); }
  template <class M>
  requires std::is_constructible_v<AnyModule, M>
  void push_back(std::string name, M&& module) {
    append(std::move(name), AnyModule(std::forward<M>(module)));
  }
  void push_back(NamedAnyModule named) { append(std::move(named.name), std::move(named.module)); }
  template <class Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }

  std::size_t size() const { return steps_.size(); }
  bool is_empty() const { return steps_.empty(); }
  auto begin() { return steps_.begin(); }
  auto end() { return steps_.end(); }
  auto begin() const { return steps_.begin(); }
  auto end() const { return steps_.end(); }
  /// Throws Error when the index is out of range.
  std::shared_ptr<Module> ptr(std::size_t index) const { return step(index).ptr(); }
  template <class M>
  auto ptr(std::size_t index) const {
    return step(index).template ptr<M>();
  }
  /// Throws Error when the index is out of range.
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  /// Throws Error when the step is of another type.
  template <class M>
  M& at(std::size_t index) const {
    return step(index).template get<M>();
  }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  void append(std::string name, AnyModule module);
  void check_not_empty() const;
  AnyValue forward_values(std::vector<AnyValue> inputs) const;
  const AnyModule& step(std::size_t index) const;

  std::vector<AnyModule> steps_;
};

/// Holder of SequentialImpl.
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules);
};

}  // namespace halftone::nn
