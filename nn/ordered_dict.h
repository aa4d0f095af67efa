#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halftone/engine/error.h"

namespace halftone {

/// A dictionary that keeps the order of insertion (torch::OrderedDict). Iterating gives items with key() and
/// value().
template <class Key, class Value>
class OrderedDict {
 public:
  /// A key and its value.
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    /// What the item is found by.
    const Key& key() const { return pair_.first; }
    /// What is kept under the key; `*` and `->` give it too.
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    /// The same as value().
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    /// Access to the value's members.
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    /// Key and value.
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  /// Over items, in order of insertion.
  using Iterator = typename std::vector<Item>::iterator;
  /// The same for a dictionary that is not changed.
  using ConstIterator = typename std::vector<Item>::const_iterator;

  explicit OrderedDict(std::string key_description = "key") : what_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  std::size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  bool contains(const Key& key) const { return index_.count(key) != 0; }
  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  const std::vector<Item>& items() const { return items_; }
  /// The item at that place in the order; std::out_of_range when there are fewer.
  Item& operator[](std::size_t i) { return items_.at(i); }
  const Item& operator[](std::size_t i) const { return items_.at(i); }
  Item& front() { return items_.front(); }
  Item& back() { return items_.back(); }

  /// Throws Error when the key is there already.
  Value& insert(Key key, Value value) {
    if (!index_.emplace(key, items_.size()).second)
      fail("OrderedDict", what_, " '", key, "' is already defined");
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  /// Inserts every item of `other`.
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }

  /// Null when the key is not there.
  Value* find(const Key& key) {
    auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items_[it->second].value();
  }
  const Value* find(const Key& key) const { return const_cast<OrderedDict*>(this)->find(key); }
  /// Throws Error when the key is not there.
  Value& operator[](const Key& key) {
    if (Value* value = find(key)) return *value;
    fail("OrderedDict", what_, " '", key, "' is not defined");
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }

  /// Takes an item out. Throws Error when the key is not there.
  void erase(const Key& key) {
    auto it = index_.find(key);
    if (it == index_.end()) fail("OrderedDict", what_, " '", key, "' is not defined");
    const std::size_t at = it->second;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    index_.erase(it);
    for (auto& entry : index_) {
      if (entry.second > at) --entry.second;
    }
  }
  void clear() {
    items_.clear();
    index_.clear();
  }
  void reserve(std::size_t count) { items_.reserve(count); }

  std::vector<Key> keys() const {
    std::vector<Key> result;
    for (const Item& item : items_) result.push_back(item.key());
    return result;
  }
  std::vector<Value> values() const {
    std::vector<Value> result;
    for (const Item& item : items_) result.push_back(item.value());
    return result;
  }
  /// Keys and values, in order of insertion.
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> result;
    for (const Item& item : items_) result.push_back(item.pair());
    return result;
  }

 private:
  std::string what_;
  std::vector<Item> items_;
  std::unordered_map<Key, std::size_t> index_;
};

}  // namespace halftone
