#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace simt {

/// One allocation of device memory; kept after it was freed, so that late accesses can be explained.
struct Allocation {
  char* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;  // 1, 2, ... in order of allocation
  int device = 0;
  bool freed = false;     // by the host, in the order of its calls
  bool unmapped = false;  // by the device; later than `freed` for stream-ordered frees

  /// The mapped pages.
  char* pages() const;
  std::size_t page_bytes() const;
};

/// The address space of all devices. Addresses are never used twice; every allocation ends at a guard gap
/// (but for at most 15 bytes that keep it aligned), is filled with NaN, and becomes inaccessible when freed.
/// Callers hold the lock of runtime.h.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  /// Null where the device has no room for it.
  void* allocate(std::size_t bytes, int device);
  /// Takes the memory from the program; false unless `data` starts an allocation that is in use.
  bool free(void* data);
  /// Makes freed memory inaccessible, when the device has come to it.
  void unmap(void* data);

  /// The allocation that `address` belongs to or lies behind (within the guard), freed ones too; null for
  /// none.
  const Allocation* find(const void* address) const;
  /// The allocation in use that has all of these bytes, or null.
  const Allocation* find_range(const void* address, std::size_t bytes) const;
  bool is_device_address(const void* address) const;

  /// Of allocations not yet freed by the host.
  std::size_t bytes_in_use(int device) const;
  std::uint64_t allocation_count() const { return count_; }

  /// Guarded: the host is kept out. Memory that an operation touches is opened by the fault handler, and
  /// closed again after the operations.
  void set_guarded(bool on);
  void close();
  /// Opens the allocation at `address` if it may be; false where the access is illegal.
  bool open_at(const void* address);

 private:
  DeviceMemory();
  Allocation* find_mutable(const void* address);

  char* base_ = nullptr;
  char* end_ = nullptr;
  char* next_ = nullptr;
  std::deque<Allocation> allocations_;  // by address
  std::vector<Allocation*> open_;       // while guarded: accessible now
  std::vector<std::size_t> in_use_;
  std::uint64_t count_ = 0;
  std::size_t mapped_ = 0;
  bool guarded_ = false;
};

/// Makes sure that the handler of illegal accesses is in place, with a stack on this host thread.
void install_fault_handler();

}  // namespace simt
