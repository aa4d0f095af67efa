#include "halftone/examples/support/text.h"

#include <algorithm>

namespace ht = halftone;

Text::Text(const std::string& text, ht::Device device) : tokenizer_(text) {
  if (text.size() < 20000) ht::fail("Text", "expected at least 20000 bytes, got ", text.size());
  const ht::Tensor all = tokenizer_.encode(text).to(device);
  const std::int64_t split = all.size(0) * 9 / 10;
  training_ = all.slice(0, 0, split);
  validation_ = all.slice(0, split);
}

ht::data::Example<> Text::batch_at(const ht::Tensor& text, const ht::Tensor& starts,
                                   std::int64_t time) const {
  const ht::Tensor places = starts.unsqueeze(1) + ht::arange(time, starts.options());
  return {text.index({places}), text.index({places + 1})};
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
  ht::Tensor text = validation_.slice(0, 0, 1).unsqueeze(0);
  for (std::int64_t i = 0; i < length; ++i) {
    const ht::Tensor recent = text.slice(1, std::max<std::int64_t>(0, text.size(1) - context));
    const ht::Tensor next = ht::multinomial(ht::softmax(scores(recent).to(ht::kFloat), 1), 1);
    text = ht::cat({text, next}, 1);
  }
  return tokenizer_.decode(text.squeeze(0).cpu());
}
