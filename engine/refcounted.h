#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace halftone {

namespace detail {
/// Takes a small block from this thread's free list (malloc when it is empty). Freed with `pool_free` and the
/// same size, on any thread.
void* pool_allocate(std::size_t bytes);
void pool_free(void* block, std::size_t bytes) noexcept;
}  // namespace detail

/// Base of everything that is shared by counting: tensors, storages, graph nodes. Objects come from free
/// lists, so making one costs no malloc in the steady state.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    // The only owner needs no locked instruction: nobody else is there to count up or down meanwhile.
    if (count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      const_cast<RefCounted*>(this)->destroy();
  }
  std::uint32_t use_count() const noexcept { return count_.load(std::memory_order_relaxed); }

  static void* operator new(std::size_t bytes) { return detail::pool_allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { detail::pool_free(block, bytes); }

 protected:
  /// Called when the last reference goes. Graph nodes override it to free long chains without recursion.
  virtual void destroy() noexcept { delete this; }

 private:
  template <class T>
  friend class IntrusivePtr;
  /// Counts the first reference, of an object that nobody else has seen.
  void retain_first() const noexcept { count_.store(1, std::memory_order_relaxed); }

  mutable std::atomic<std::uint32_t> count_{0};
};

/// Shared pointer to a RefCounted object: one word, no control block.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  explicit IntrusivePtr(T* object) : object_(object) { retain(); }
  IntrusivePtr(const IntrusivePtr& other) : object_(other.object_) { retain(); }
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  IntrusivePtr(const IntrusivePtr<U>& other) : object_(other.get()) {
    retain();
  }
  template <class U>
  IntrusivePtr(IntrusivePtr<U>&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_) object_->release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept { *this = IntrusivePtr(); }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.object_ == b.object_; }

  /// The first pointer to a new object.
  static IntrusivePtr first(T* object) noexcept {
    object->retain_first();
    IntrusivePtr pointer;
    pointer.object_ = object;
    return pointer;
  }

 private:
  template <class U>
  friend class IntrusivePtr;
  void retain() {
    if (object_) object_->retain();
  }
  T* object_ = nullptr;
};

/// A new object and the first pointer to it.
template <class T, class... Args>
IntrusivePtr<T> make_intrusive(Args&&... args) {
  return IntrusivePtr<T>::first(new T(std::forward<Args>(args)...));
}

}  // namespace halftone
