#include "halftone/data/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace halftone::data {
namespace {

/// Bytes of the character that begins with `lead`; 0 where none does.
std::size_t character_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

/// Calls f(character) for every character of a UTF-8 text.
template <class F>
void for_characters(std::string_view text, F&& f) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(static_cast<unsigned char>(text[i]));
    bool is_whole = bytes > 0 && text.size() - i >= bytes;
    for (std::size_t k = 1; is_whole && k < bytes; ++k) {
      is_whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (!is_whole)
      fail("CharTokenizer", "the text is not UTF-8 at byte ", i, "; use ByteTokenizer for any bytes");
    f(text.substr(i, bytes));
    i += bytes;
  }
}

Tensor to_tensor(const std::vector<std::int64_t>& tokens) {
  const Tensor result = empty({static_cast<std::int64_t>(tokens.size())}, TensorOptions(kLong).device(kCPU));
  std::copy(tokens.begin(), tokens.end(), result.data_ptr<std::int64_t>());
  return result;
}

std::vector<std::int64_t> from_tensor(const char* op, const Tensor& tokens) {
  if (!tokens.defined() || tokens.is_floating_point())
    fail(op, "expected a tensor of integer tokens, got ", tokens);
  const Tensor flat = tokens.to(TensorOptions(kLong).device(kCPU)).contiguous();
  if (flat.numel() == 0) return {};
  const std::int64_t* data = flat.data_ptr<std::int64_t>();
  return {data, data + flat.numel()};
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read_text", path, ": cannot be opened: ", std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) fail("read_text", path, ": cannot be read");
  return text;
}

Tensor ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return to_tensor(tokens);
}

std::string ByteTokenizer::decode(const Tensor& tokens) const {
  std::string text;
  for (const std::int64_t token : from_tensor("ByteTokenizer", tokens)) {
    if (token < 0 || token > 255) fail("ByteTokenizer", "token ", token, " is not a byte");
    text += static_cast<char>(token);
  }
  return text;
}

CharTokenizer::CharTokenizer(std::string_view text) {
  std::set<std::string, std::less<>> distinct;
  for_characters(text, [&](std::string_view character) {
    if (!distinct.contains(character)) distinct.emplace(character);
  });
  characters_.assign(distinct.begin(), distinct.end());
}

const std::string& CharTokenizer::character(std::int64_t token) const {
  if (token < 0 || token >= size()) fail("CharTokenizer", "token ", token, " of ", size(), " is not there");
  return characters_[static_cast<std::size_t>(token)];
}

Tensor CharTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size());
  for_characters(text, [&](std::string_view character) {
    const auto found = std::lower_bound(characters_.begin(), characters_.end(), character);
    if (found == characters_.end() || *found != character)
      fail("CharTokenizer", "the character '", character, "' is not in the vocabulary of ", size());
    tokens.push_back(found - characters_.begin());
  });
  return to_tensor(tokens);
}

std::string CharTokenizer::decode(const Tensor& tokens) const {
  std::string text;
  for (const std::int64_t token : from_tensor("CharTokenizer", tokens)) text += character(token);
  return text;
}

namespace datasets {

TextDataset::TextDataset(Tensor tokens, std::int64_t length, std::int64_t stride)
    : tokens_(std::move(tokens)), length_(length), stride_(stride) {
  if (!tokens_.defined() || tokens_.dim() != 1 || tokens_.scalar_type() != kLong)
    fail("TextDataset", "tokens: expected int64 (N), got ", tokens_);
  if (length < 1 || tokens_.size(0) <= length)
    fail("TextDataset", "length: expected 1 to ", tokens_.size(0) - 1, " for ", tokens_.size(0),
         " tokens, got ", length);
  if (stride < 1) fail("TextDataset", "stride: expected at least 1, got ", stride);
}

std::optional<std::size_t> TextDataset::size() const {
  return static_cast<std::size_t>((tokens_.size(0) - 1 - length_) / stride_ + 1);
}

Example<> TextDataset::get(std::size_t index) {
  if (index >= *size()) fail("TextDataset", "example ", index, " of ", *size(), " is not there");
  const std::int64_t at = static_cast<std::int64_t>(index) * stride_;
  return {tokens_.narrow(0, at, length_), tokens_.narrow(0, at + 1, length_)};
}

}  // namespace datasets
}  // namespace halftone::data
