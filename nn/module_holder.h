#pragma once

#include <memory>
#include <utility>

#include "halftone/nn/module.h"

namespace halftone::nn {

/// A module by value: a shared pointer that constructs, calls and prints like the module it holds (libtorch's
/// ModuleHolder). `nn::Linear fc{nullptr};` is empty until assigned.
/// Inside it owns a plain Module: a shared_ptr type per layer class costs every program compile time.
template <class Contained>
class ModuleHolder {
 public:
  /// The module's class.
  using ContainedType = Contained;

  ModuleHolder() : ModuleHolder(make_default()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : contained_(module.get()), owner_(std::move(module)) {}
  template <class Head, class... Tail>
  requires(
      std::is_constructible_v<Contained, Head, Tail...> &&
      !(sizeof...(Tail) == 0 &&
        std::is_base_of_v<ModuleHolder, std::remove_cvref_t<Head>>)) explicit ModuleHolder(Head&& head,
                                                                                           Tail&&... tail)
      : ModuleHolder(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  /// False for one made from nullptr.
  explicit operator bool() const noexcept { return !is_empty(); }
  /// True for one made from nullptr.
  bool is_empty() const noexcept { return owner_ == nullptr; }
  /// The module. Throws Error when empty.
  Contained* operator->() const { return get(); }
  /// The module. Throws Error when empty.
  Contained& operator*() const { return *get(); }
  /// Throws Error when empty.
  std::shared_ptr<Contained> ptr() const { return {owner_, get()}; }
  /// The module. Throws Error when empty.
  Contained* get() const {
    if (is_empty())
      fail("ModuleHolder", "the module is empty: construct it, or assign the result of register_module");
    return contained_;
  }
  /// The module's forward().
  template <class... Args, class M = Contained>
  auto operator()(Args&&... args) const -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    return get()->forward(std::forward<Args>(args)...);
  }
  /// The module's operator[].
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) const {
    return (*get())[std::forward<Arg>(arg)];
  }

 private:
  static std::shared_ptr<Contained> make_default() {
    if constexpr (std::is_default_constructible_v<Contained>) {
      return std::make_shared<Contained>();
    } else {
      return nullptr;
    }
  }

  Contained* contained_ = nullptr;
  std::shared_ptr<Module> owner_;
};

/// The module and what it contains, one a line.
template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& holder) {
  return stream << static_cast<const Module&>(*holder);
}

}  // namespace halftone::nn

/// Makes the holder class `Name` of the module class `NameImpl` (libtorch's TORCH_MODULE).
#define HALFTONE_MODULE(Name)                                     \
  class Name : public ::halftone::nn::ModuleHolder<Name##Impl> {  \
   public:                                                        \
    using ::halftone::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
    using Impl = Name##Impl;                                      \
  }
