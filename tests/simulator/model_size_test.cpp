// Parameter counts agree with the names that state them; what is estimated is of the right order.
#include "simulator/model_size.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/preset.hpp"

namespace {

using namespace hybridmem_simulator;

// The number of a word such as 7b, a3b (with `prefix` "a"), 90m or 1t.
std::optional<double> stated(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix) || word.size() < prefix.size() + 2) return std::nullopt;
  word.remove_prefix(prefix.size());
  const char unit = word.back();
  word.remove_suffix(1);
  double value = 0.0;
  const auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || rest != word.data() + word.size()) return std::nullopt;
  if (unit == 'm') return value * 1e6;
  if (unit == 'b') return value * 1e9;
  if (unit == 't') return value * 1e12;
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('-', start), name.size());
    words.push_back(name.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

}  // namespace

TEST_CASE("sizes agree with the names of the presets") {
  std::size_t named = 0;
  for (const hybridmem::ModelPreset& preset : hybridmem::model_presets()) {
    const std::string_view name = preset.architecture.name;
    CAPTURE(name);
    std::optional<double> total;
    std::optional<double> active;
    for (const std::string_view word : words_of(name)) {
      if (const auto value = stated(word, "")) total = value;
      if (const auto value = stated(word, "a")) active = value;
    }
    const auto size = find_model_size(name);
    if (!total) {
      if (size) CHECK(size->source == SizeSource::published);
      continue;
    }
    ++named;
    REQUIRE(size);
    CHECK(size->total_parameters == doctest::Approx(*total));
    if (active) CHECK(size->active_parameters == doctest::Approx(*active));
    if (size->source == SizeSource::name && !active)
      CHECK(size->active_parameters == size->total_parameters);
    CHECK(size->active_parameters <= size->total_parameters);
  }
  CHECK(named >= 40);
}

TEST_CASE("a size is found by any name of a preset") {
  CHECK(find_model_size("Falcon_H1 7B")->total_parameters == 7e9);
  CHECK(find_model_size("jamba-1.7-mini")->active_parameters == 12e9);
  CHECK(find_model_size("minimax-m1")->total_parameters == 456e9);
  CHECK_FALSE(find_model_size("no such model"));
  CHECK_FALSE(find_model_size("kimi-k3"));
}

TEST_CASE("estimates of dense models are right to a factor of five") {
  for (const hybridmem::ModelPreset& preset : hybridmem::model_presets()) {
    const auto known = find_model_size(std::string_view(preset.architecture.name));
    if (!known || known->active_parameters < known->total_parameters) continue;
    const ModelSize estimate = estimate_model_size(preset.architecture);
    const double ratio = estimate.total_parameters / known->total_parameters;
    CAPTURE(std::string(std::string_view(preset.architecture.name)));
    CAPTURE(ratio);
    CHECK(ratio > 0.2);
    CHECK(ratio < 5.0);
    CHECK(estimate.source == SizeSource::estimated);
    CHECK(estimate.active_parameters == estimate.total_parameters);
  }
}

TEST_CASE("a model without a known name is estimated, and says so") {
  hybridmem::ModelArchitecture model = hybridmem::find_preset("falcon-h1-7b")->architecture;
  CHECK(model_size(model).source == SizeSource::name);
  model.name = "mine";
  CHECK(model_size(model).source == SizeSource::estimated);
  CHECK(model_size(hybridmem::find_preset("kimi-k3")->architecture).source ==
        SizeSource::estimated);
  CHECK(std::string(name_of(SizeSource::given)) == "given");
}
