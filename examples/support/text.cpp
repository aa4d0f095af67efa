#include "halftone/examples/support/text.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace ht = halftone;

Text::Text(const std::string& path, ht::Device device) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < 20000)
    ht::fail("--data", path, " has ", bytes.size(), " bytes, a text of at least 20000 is needed");

  alphabet_ = bytes;
  std::sort(alphabet_.begin(), alphabet_.end());
  alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
  std::array<std::int64_t, 256> number{};
  for (std::size_t i = 0; i < alphabet_.size(); ++i)
    number[static_cast<unsigned char>(alphabet_[i])] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> numbers(bytes.size());
  std::transform(bytes.begin(), bytes.end(), numbers.begin(),
                 [&](char c) { return number[static_cast<unsigned char>(c)]; });

  const ht::Tensor all = ht::tensor(numbers).to(device);
  const std::int64_t split = all.size(0) * 9 / 10;
  training_ = all.slice(0, 0, split);
  validation_ = all.slice(0, split);
}

ht::data::Example<> Text::batch_at(const ht::Tensor& text, const ht::Tensor& starts,
                                   std::int64_t time) const {
  const ht::Tensor places = starts.unsqueeze(1) + ht::arange(time, starts.options());
  const auto at = [&](const ht::Tensor& index) {
    return text.index_select(0, index.flatten()).view(index.sizes());
  };
  return {at(places), at(places + 1)};
}

ht::data::Example<> Text::random_batch(std::int64_t batch, std::int64_t time) const {
  return batch_at(training_, ht::randint(training_.size(0) - time, {batch}, training_.options()), time);
}

std::vector<ht::data::Example<>> Text::validation_batches(std::int64_t batch, std::int64_t time,
                                                          std::int64_t count) const {
  std::vector<ht::data::Example<>> batches;
  const std::int64_t rows = (validation_.size(0) - 1) / time;
  for (std::int64_t i = 0; i < std::min(count, rows / batch); ++i) {
    batches.push_back(
        batch_at(validation_, ht::arange(i * batch, (i + 1) * batch, validation_.options()) * time, time));
  }
  return batches;
}

std::string Text::write(std::int64_t length, std::int64_t context,
                        const std::function<ht::Tensor(const ht::Tensor&)>& scores) const {
  const ht::NoGradGuard no_grad;
  std::string written;
  ht::Tensor text = validation_.slice(0, 0, 1).unsqueeze(0);
  for (std::int64_t i = 0; i < length; ++i) {
    const ht::Tensor recent = text.slice(1, std::max<std::int64_t>(0, text.size(1) - context));
    const ht::Tensor next = ht::multinomial(ht::softmax(scores(recent).to(ht::kFloat), 1), 1);
    written += alphabet_[static_cast<std::size_t>(next.item<std::int64_t>())];
    text = ht::cat({text, next}, 1);
  }
  return written;
}
