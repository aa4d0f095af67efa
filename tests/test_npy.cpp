// NumPy's .npy files.

#include <utility>

#include <catch2/catch.hpp>

#include "halftone/engine/tensor_factory.h"
#include "halftone/io/npy.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/layouts.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

std::string npy_error(const std::string& bytes) {
  return error_of_loading(bytes, [](const std::string& path) { io::load_npy(path); });
}

std::string npy_of(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes + header + data;
}

}  // namespace

TEST_CASE("npy: every dtype, shape and layout comes back bit for bit", "[io][npy]") {
  const TempFolder folder;
  const std::string path = folder.file("x.npy");
  for (const ScalarType dtype : kTypes) {
    if (dtype == kBFloat16) continue;
    for (const Tensor& tensor : layouts(dtype)) {
      io::save_npy(path, tensor);
      INFO(concat(tensor));
      CHECK(same_bits(io::load_npy(path), tensor.contiguous()));
    }
  }
}

TEST_CASE("npy: the bytes are NumPy's", "[io][npy]") {
  const TempFolder folder;
  const std::string path = folder.file("x.npy");
  // numpy.save of numpy.array([[1, 2, 3]], dtype='<i4')
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }";
  header.append(127 - 10 - header.size(), ' ');
  header += '\n';
  io::save_npy(path, tensor({1, 2, 3}, kInt).view({1, 3}));
  CHECK(read_bytes(path) == npy_of(header, std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12)));
  for (const auto& [shape, text] :
       {std::pair<Dims, const char*>{{}, "()"}, {{3}, "(3, )"}, {{2, 3}, "(2, 3)"}}) {
    io::save_npy(path, zeros(shape));
    CHECK_THAT(read_bytes(path), Contains(std::string("'shape': ") + text));
    CHECK((read_bytes(path).size() - static_cast<std::size_t>(4 * count_elements(shape))) % 64 == 0);
  }

  const std::string data{1, 2, 3, 4, 5, 6};
  write_bytes(path, npy_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}\n", data));
  CHECK(values(io::load_npy(path)) == List{1, 3, 5, 2, 4, 6});
  write_bytes(path, npy_of("{\"shape\":(3,2,),\"fortran_order\":False,\"descr\":\"|u1\",}", data));
  CHECK(values(io::load_npy(path)) == List{1, 2, 3, 4, 5, 6});
  CHECK(io::load_npy(path).sizes() == IntArrayRef{3, 2});
  write_bytes(path, npy_of("{'descr': '|b1', 'fortran_order': False, 'shape': (6,), }", data));
  CHECK(values(io::load_npy(path)) == List(6, 1.0));
  // Version 2: a header length of four bytes.
  const std::string plain = "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }";
  std::string two = std::string("\x93NUMPY\2\0", 8) + static_cast<char>(plain.size()) + std::string(3, '\0');
  write_bytes(path, two + plain + data);
  CHECK(values(io::load_npy(path)) == List{1, 2, 3, 4, 5, 6});
}

TEST_CASE("npy: damaged and hostile files are Errors", "[io][npy]") {
  const TempFolder folder;
  io::save_npy(folder.file("x.npy"), ones({2, 3}));
  const std::string good = read_bytes(folder.file("x.npy"));
  for (std::size_t length = 0; length < good.size(); ++length) {
    INFO("length " << length);
    CHECK_FALSE(npy_error(good.substr(0, length)).empty());
  }
  CHECK_THAT(npy_error(good + "x"), Contains("does not fit"));
  for (std::size_t at = 0; at < good.size() - 24; ++at) {  // must not crash
    for (const char c : {'\0', '9', '(', ')', '\'', ',', '\xff'}) {
      std::string bytes = good;
      bytes[at] = c;
      npy_error(bytes);
    }
  }
  struct Case {
    const char* header;
    const char* expected;
  };
  const Case cases[] = {
      {"", "expected '{'"},
      {"{}", "needs descr"},
      {"{'descr': '<f4', 'fortran_order': False}", "needs descr"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "'>f4'"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "'|O'"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured"},
      {"{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "twice"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "not a size"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1,)}", "expected ','"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "not a size"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "damaged"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "expected '('"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "impossible"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296)}", "64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,4294967296,4294967296)}", "64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "at most 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "does not fit"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "follows"},
      {"{'descr': '<f4', 'x': 1, 'fortran_order': False, 'shape': (1,)}", "'x'"},
      {"{'descr': '<f4", "without an end"},
  };
  for (const Case& item : cases) {
    INFO(item.header);
    CHECK_THAT(npy_error(npy_of(item.header, std::string(4, '\0'))), Contains(item.expected));
  }
  CHECK_THAT(npy_error(std::string("\x93NUMPY\4\0\0\0", 10)), Contains("version 4.0"));
  CHECK_THAT(npy_error(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)), Contains("4294967295"));
  CHECK_THAT(npy_error("PK\3\4 an .npz file"), Contains("not a .npy"));
}
