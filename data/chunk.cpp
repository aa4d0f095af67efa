#include "halftone/data/chunk.h"

namespace halftone::data::datasets {

ChunkDatasetOptions::ChunkDatasetOptions(std::size_t preloader_count, std::size_t batch_size,
                                         std::size_t cache_size, std::size_t cross_chunk_shuffle_count)
    : preloader_count_(preloader_count),
      batch_size_(batch_size),
      cache_size_(cache_size),
      cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
  check();
}

void ChunkDatasetOptions::check() const {
  const auto check_positive = [](const char* option, std::size_t value) {
    if (value == 0) fail("ChunkDatasetOptions", option, " must be at least 1, got 0");
  };
  check_positive("preloader_count", preloader_count_);
  check_positive("batch_size", batch_size_);
  check_positive("cross_chunk_shuffle_count", cross_chunk_shuffle_count_);
  if (cache_size_ < batch_size_) {
    fail("ChunkDatasetOptions", "cache_size must hold a batch of ", batch_size_, ", got ", cache_size_);
  }
}

}  // namespace halftone::data::datasets
