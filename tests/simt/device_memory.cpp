#include "halftone/tests/simt/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/settings.h"

namespace simt {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kGapBytes = std::size_t{256} << 10;
constexpr std::size_t kReservedBytes = std::size_t{8} << 40;
constexpr std::size_t kLeastReservedBytes = std::size_t{8} << 30;
/// Allocations are right-aligned to this against the gap: what the widest vector loads need.
constexpr std::size_t kAlignment = 16;
/// Records of freed memory kept for explanations.
constexpr std::size_t kRecords = std::size_t{1} << 18;
/// A hint that makes device addresses easy to recognise; sanitizers may have other use for the place.
void* const kHint = reinterpret_cast<void*>(std::uintptr_t{0x200000000000});

static_assert(sizeof(void*) == 8);

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// Linux gives a process 65530 mappings, and an allocation takes two.
constexpr std::size_t kMostMapped = 30000;

}  // namespace

char* Allocation::pages() const {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(data) / kPageBytes * kPageBytes);
}
std::size_t Allocation::page_bytes() const {
  return round_up(static_cast<std::size_t>(data - pages()) + bytes, kPageBytes);
}

DeviceMemory& DeviceMemory::instance() {
  static auto* const memory = new DeviceMemory;  // outlives all static objects that free memory
  return *memory;
}

DeviceMemory::DeviceMemory() {
  // As much as there may be: ThreadSanitizer leaves programs a part of the address space only.
  std::size_t bytes = kReservedBytes;
  void* base = MAP_FAILED;
  for (; bytes >= kLeastReservedBytes; bytes /= 2) {
    base = mmap(kHint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED) break;
  }
  if (base == MAP_FAILED) std::abort();
  base_ = static_cast<char*>(base);
  end_ = base_ + bytes;
  next_ = base_ + kGapBytes;
  in_use_.resize(16);
}

void* DeviceMemory::allocate(std::size_t bytes, int device) {
  ++count_;
  install_fault_handler();
  if (settings().failing_allocation > 0 && --settings().failing_allocation == 0) return nullptr;
  std::size_t& in_use = in_use_.at(static_cast<std::size_t>(device));
  if (bytes > settings().device_memory || in_use + bytes > settings().device_memory) return nullptr;
  if (mapped_ == kMostMapped) return nullptr;
  const std::size_t page_bytes = round_up(bytes, kPageBytes);
  if (page_bytes + kGapBytes > static_cast<std::size_t>(end_ - next_)) return nullptr;
  if (mprotect(next_, page_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset(next_, 0xff, page_bytes);

  Allocation allocation;
  allocation.data = next_ + page_bytes - round_up(bytes, kAlignment);
  allocation.bytes = bytes;
  allocation.number = count_;
  allocation.device = device;
  sanitizer::poison(next_, static_cast<std::size_t>(allocation.data - next_));
  sanitizer::poison(allocation.data + bytes,
                    static_cast<std::size_t>(next_ + page_bytes - allocation.data) - bytes);
  next_ += page_bytes + kGapBytes;
  in_use += bytes;
  ++mapped_;
  while (allocations_.size() > kRecords && allocations_.front().unmapped) allocations_.pop_front();
  allocations_.push_back(allocation);
  if (guarded_) open_.push_back(&allocations_.back());
  return allocation.data;
}

bool DeviceMemory::free(void* data) {
  Allocation* allocation = find_mutable(data);
  if (allocation == nullptr || allocation->data != data || allocation->freed) return false;
  allocation->freed = true;
  in_use_[static_cast<std::size_t>(allocation->device)] -= allocation->bytes;
  return true;
}

void DeviceMemory::unmap(void* data) {
  Allocation* allocation = find_mutable(data);
  if (allocation == nullptr || allocation->unmapped) return;
  allocation->unmapped = true;
  --mapped_;
  std::erase(open_, allocation);
  sanitizer::unpoison(allocation->pages(), allocation->page_bytes());
  const void* pages = mmap(allocation->pages(), allocation->page_bytes(), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (pages == MAP_FAILED) std::abort();
}

Allocation* DeviceMemory::find_mutable(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  const auto after = std::upper_bound(allocations_.begin(), allocations_.end(), byte,
                                      [](const char* a, const Allocation& b) { return a < b.pages(); });
  return after == allocations_.begin() ? nullptr : &*(after - 1);
}

const Allocation* DeviceMemory::find(const void* address) const {
  return is_device_address(address) ? const_cast<DeviceMemory*>(this)->find_mutable(address) : nullptr;
}

const Allocation* DeviceMemory::find_range(const void* address, std::size_t bytes) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->freed) return nullptr;
  const auto* byte = static_cast<const char*>(address);
  if (byte < allocation->data) return nullptr;
  const auto offset = static_cast<std::size_t>(byte - allocation->data);
  return offset <= allocation->bytes && bytes <= allocation->bytes - offset ? allocation : nullptr;
}

bool DeviceMemory::is_device_address(const void* address) const { return address >= base_ && address < end_; }

std::size_t DeviceMemory::bytes_in_use(int device) const { return in_use_[static_cast<std::size_t>(device)]; }

void DeviceMemory::set_guarded(bool on) {
  if (on == guarded_) return;
  guarded_ = on;
  open_.clear();
  for (Allocation& allocation : allocations_) {
    if (allocation.unmapped) continue;
    if (on) {
      open_.push_back(&allocation);
    } else {
      mprotect(allocation.pages(), allocation.page_bytes(), PROT_READ | PROT_WRITE);
    }
  }
  close();
}

void DeviceMemory::close() {
  if (!guarded_) return;
  for (const Allocation* allocation : open_)
    mprotect(allocation->pages(), allocation->page_bytes(), PROT_NONE);
  open_.clear();
}

bool DeviceMemory::open_at(const void* address) {
  Allocation* allocation = guarded_ && is_device_address(address) ? find_mutable(address) : nullptr;
  if (allocation == nullptr || allocation->unmapped) return false;
  const auto* byte = static_cast<const char*>(address);
  if (byte >= allocation->pages() + allocation->page_bytes()) return false;
  // A second fault at an open allocation is not of our making.
  if (std::find(open_.begin(), open_.end(), allocation) != open_.end()) return false;
  open_.push_back(allocation);
  return mprotect(allocation->pages(), allocation->page_bytes(), PROT_READ | PROT_WRITE) == 0;
}

}  // namespace simt
