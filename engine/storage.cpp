#include "halftone/engine/storage.h"

#include "halftone/engine/cuda_backend.h"

namespace halftone {

Storage::Storage(std::size_t bytes, Device device)
    : data_(allocator_for(device).allocate(bytes, current_memory_category())),
      bytes_(bytes),
      device_(cuda::resolve(device)),
      category_(current_memory_category()),
      owned_(true) {}

Storage::Storage(void* data, std::size_t bytes, Device device, std::function<void(void*)> deleter)
    : data_(data),
      bytes_(bytes),
      device_(cuda::resolve(device)),
      category_(MemoryCategory::kTemporary),
      owned_(false),
      deleter_(std::move(deleter)) {}

Storage::~Storage() {
  if (owned_) {
    allocator_for(device_).free(data_, bytes_, category_);
  } else if (deleter_) {
    deleter_(data_);
  }
}

void Storage::set_category(MemoryCategory category) {
  if (category == category_) return;
  if (owned_) allocator_for(device_).recategorise(bytes_, category_, category);
  category_ = category;
}

void Storage::add_saved() {
  if (saved_.fetch_add(1) == 0 && category_ == MemoryCategory::kTemporary)
    set_category(MemoryCategory::kSaved);
}

void Storage::remove_saved() {
  if (saved_.fetch_sub(1) == 1 && category_ == MemoryCategory::kSaved)
    set_category(MemoryCategory::kTemporary);
}

}  // namespace halftone
