#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/data/dataset.h"

namespace halftone::data {

/// The content of a file. Throws Error when it cannot be read.
std::string read_text(const std::string& path);

/// Text as numbers: every byte is one of 256 tokens.
class ByteTokenizer {
 public:
  /// Number of tokens: 256.
  std::int64_t size() const { return 256; }
  /// int64 (bytes).
  Tensor encode(std::string_view text) const;
  /// Throws Error on tokens outside 0 .. 255.
  std::string decode(const Tensor& tokens) const;
};

/// Text as numbers: every distinct character (UTF-8 code point) of a text is a token, in the order of their
/// code points.
class CharTokenizer {
 public:
  /// Throws Error when `text` is not UTF-8.
  explicit CharTokenizer(std::string_view text);

  /// Number of tokens: distinct characters.
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// Throws Error on a token that is not there.
  const std::string& character(std::int64_t token) const;
  /// int64 (characters). Throws Error on a character that the tokenizer's text did not have.
  Tensor encode(std::string_view text) const;
  /// Throws Error on a token that is not there.
  std::string decode(const Tensor& tokens) const;

 private:
  std::vector<std::string> characters_;  // sorted: UTF-8 sorts as the code points do
};

namespace datasets {

/// Pieces of a text for a language model: example i is `length` tokens from position i * stride on, and the
/// same shifted by one, which is to be predicted.
class TextDataset : public Dataset<TextDataset> {
 public:
  /// `tokens`: int64 (N). Throws Error unless N > length >= 1 and stride >= 1.
  TextDataset(Tensor tokens, std::int64_t length, std::int64_t stride = 1);
  Example<> get(std::size_t index) override;
  std::optional<std::size_t> size() const override;

 private:
  Tensor tokens_;
  std::int64_t length_, stride_;
};

}  // namespace datasets
}  // namespace halftone::data
