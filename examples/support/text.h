#pragma once

#include <functional>
#include <string>
#include <vector>

#include <halftone/halftone.h>

/// A text as numbers, one per character, for models that learn to write. The last tenth is kept for
/// validation.
class Text {
 public:
  /// Throws Error when the text has fewer than 20000 bytes.
  Text(const std::string& text, halftone::Device device);

  /// How many distinct characters there are.
  std::int64_t characters() const { return tokenizer_.size(); }

  /// (batch, time) characters from random places, and the characters that follow each of them.
  halftone::data::Example<> random_batch(std::int64_t batch, std::int64_t time) const;
  /// The same places of the validation part every time; fewer than `count` batches where it is short.
  std::vector<halftone::data::Example<>> validation_batches(std::int64_t batch, std::int64_t time,
                                                            std::int64_t count) const;

  /// Writes `length` characters after one of the validation part: `scores` gives the (1, characters) logits
  /// after a (1, time) context of at most `context` characters.
  std::string write(std::int64_t length, std::int64_t context,
                    const std::function<halftone::Tensor(const halftone::Tensor&)>& scores) const;

 private:
  halftone::data::Example<> batch_at(const halftone::Tensor& text, const halftone::Tensor& starts,
                                     std::int64_t time) const;

  halftone::data::CharTokenizer tokenizer_;
  halftone::Tensor training_, validation_;  // int64
};
