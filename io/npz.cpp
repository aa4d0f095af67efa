#include "halftone/io/npz.h"

#include "halftone/io/npy.h"
#include "halftone/io/state_file.h"
#include "halftone/io/zip.h"

namespace halftone::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

void save_npz(const Destination& to, const NamedTensors& tensors, bool compressed) {
  std::vector<ZipMember> members;
  for (const auto& item : tensors) {
    if (item.key().empty()) fail("save_npz", to.name(), ": a tensor has no name");
    if (!item.value().defined()) fail("save_npz", to.name(), ": tensor '", item.key(), "' is undefined");
    ZipMember& member = members.emplace_back(ZipMember{item.key() + std::string(kSuffix), std::string()});
    save_npy(Destination([&](const void* data, std::size_t bytes) {
               member.content.append(static_cast<const char*>(data), bytes);
               return bytes;
             }),
             item.value());
  }
  write_zip(to, members, compressed);
}

NamedTensors load_npz(const Origin& from) {
  NamedTensors tensors("tensor");
  for (const ZipMember& member : read_zip("load_npz", from)) {
    std::string name = member.name;
    if (!name.ends_with(kSuffix)) fail("load_npz", from.name(), ": member '", name, "' is not a .npy file");
    name.resize(name.size() - kSuffix.size());
    naming_source(concat(from.name(), ", member '", member.name, "'"), [&] {
      tensors.insert(name, load_npy(Origin(member.content.data(), member.content.size())));
    });
  }
  return tensors;
}

}  // namespace halftone::io
