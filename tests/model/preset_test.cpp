// Presets: lookup by name, the nearest name, and the geometry of every model against the table in
// tests/data.
#include "hybridmem/model/preset.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/make_geometry.hpp"

namespace {

using namespace hybridmem;

using Row = std::map<std::string, std::string>;

std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::vector<Row> read_table(const std::string& name) {
  std::ifstream file(std::string(HYBRIDMEM_TEST_DATA) + "/" + name);
  REQUIRE(file.good());
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split_line(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split_line(line);
    REQUIRE(cells.size() == columns.size());
    Row row;
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

std::uint64_t number(const Row& row, const char* column) {
  const std::string& text = row.at(column);
  return text.empty() ? 0 : std::stoull(text);
}

StateDtype explicit_dtype(const Row& row) {
  const auto choice = parse_state_dtype(row.at("ssm_dtype"));
  REQUIRE(choice.has_value());
  return *choice;
}

void check_bytes(const StateGeometry& geometry, const Row& row) {
  CHECK(geometry.kv_bytes_per_token_layer == number(row, "kv_B_tok_layer"));
  CHECK(geometry.recurrent_bytes_layer() == number(row, "ssm_B"));
  CHECK(geometry.conv_bytes_layer() == number(row, "conv_B"));
  CHECK(geometry.checkpoint_bytes_layer() == number(row, "composite_B"));
}

/// A tensor's shape as the table prints it.
std::string shape_text(const StateTensor& tensor) {
  std::string text;
  for (std::size_t axis = 0; axis < tensor.rank; ++axis)
    text += (axis == 0 ? "(" : ",") + std::to_string(tensor.shape[axis]);
  return text + ")";
}

static_assert(model_presets().size() == 57);
static_assert(find_preset("falcon-h1-7b")->architecture.hidden_layers == 44);
static_assert(nearest_preset("falcon-h1-70b") == "falcon-h1-7b");

TEST_CASE("preset names are canonical and distinct and fit their field") {
  std::set<std::string_view> names;
  for (const ModelPreset& preset : model_presets()) {
    const std::string_view name = preset.architecture.name;
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(name.size() < ModelName::capacity());
    CHECK(std::ranges::none_of(
        name, [](char c) { return (c >= 'A' && c <= 'Z') || c == '/' || c == '_' || c == ' '; }));
    CHECK(find_preset(name) == &preset);
    CHECK(nearest_preset(name) == name);
  }
}

TEST_CASE("a preset is found in any case and with any separator") {
  CHECK(find_preset("Falcon-H1-7B") == find_preset("falcon-h1-7b"));
  CHECK(find_preset("Jamba-1.5/1.7-Mini") == find_preset("jamba-1.5-1.7-mini"));
  CHECK(find_preset("ring_ling_2.5 1T") == find_preset("ring-ling-2.5-1t"));
  CHECK(find_preset("MiniMax-Text-01/M1")->architecture.name.view() == "minimax-text-01-m1");
  CHECK(find_preset("hunyuan-turbos") == nullptr);
  CHECK(find_preset("") == nullptr);
  CHECK(find_preset("falcon-h1-7b.json") == nullptr);
  CHECK(find_preset("falcon-h1-7") == nullptr);
}

TEST_CASE("models that share a row are found by their own names") {
  const std::pair<const char*, const char*> pairs[] = {
      {"jamba-1.5-mini", "jamba-1.5-1.7-mini"},   {"jamba-1.7-mini", "jamba-1.5-1.7-mini"},
      {"jamba-1.5-large", "jamba-1.5-1.7-large"}, {"jamba-1.7-large", "jamba-1.5-1.7-large"},
      {"minimax-text-01", "minimax-text-01-m1"},  {"MiniMax-M1", "minimax-text-01-m1"},
      {"ring-2.5-1t", "ring-ling-2.5-1t"},        {"Ling_2.5_1T", "ring-ling-2.5-1t"}};
  for (const auto& [alias, preset] : pairs) {
    CAPTURE(alias);
    REQUIRE(find_preset(alias) != nullptr);
    CHECK(find_preset(alias)->architecture.name.view() == preset);
  }
}

TEST_CASE("the nearest preset to a misspelled name") {
  CHECK(nearest_preset("falcon-h1-7") == "falcon-h1-7b");
  CHECK(nearest_preset("qwen3.5-27bb") == "qwen3.5-27b");
  CHECK(nearest_preset("QWEN3_NEXT-80B") == "qwen3-next-80b-a3b");
  CHECK(nearest_preset("minimax-m1x") == "minimax-m1");
  CHECK_FALSE(nearest_preset("").empty());
  CHECK_FALSE(nearest_preset(std::string(10'000, 'x')).empty());
  CHECK(nearest_preset("falcon-h1-7b" + std::string(100, 'x')) != "");
}

TEST_CASE("provenances have names") {
  CHECK(std::string_view(name_of(Provenance::configuration)) == "configuration");
  CHECK(std::string_view(name_of(Provenance::documentation)) == "documentation");
  CHECK(std::string_view(name_of(Provenance::recalled)) == "recalled");
  CHECK(std::string_view(name_of(static_cast<Provenance>(9))) == "unknown");
}

TEST_CASE("the table in tests/data has exactly the presets") {
  std::set<const ModelPreset*> seen;
  for (const Row& row : read_table("models.csv")) {
    CAPTURE(row.at("model"));
    const ModelPreset* preset = find_preset(row.at("model"));
    REQUIRE(preset != nullptr);
    seen.insert(preset);
    const std::string letter = preset->provenance == Provenance::configuration   ? "F"
                               : preset->provenance == Provenance::documentation ? "D"
                                                                                 : "R";
    CHECK(letter == row.at("prov"));
  }
  CHECK(seen.size() == model_presets().size());
}

TEST_CASE("the geometry of every preset equals the table for each state type") {
  int rows = 0;
  for (const Row& row : read_table("models.csv")) {
    CAPTURE(row.at("model"));
    CAPTURE(row.at("variant"));
    const ModelArchitecture& model = find_preset(row.at("model"))->architecture;
    CHECK(model.hidden_layers == number(row, "layers"));
    CHECK(model.attention_layers == number(row, "attn_layers"));
    CHECK(model.recurrent_layers == number(row, "rec_layers"));
    CHECK(model.kernel_chunk_tokens == number(row, "chunk"));

    std::vector<StateDtype> choices;
    if (row.at("variant") == "vllm") choices.push_back(StateDtype::auto_vllm);
    choices.push_back(explicit_dtype(row));
    for (const StateDtype choice : choices) {
      const auto geometry = make_geometry(model, GeometryOptions{.state_dtype = choice});
      REQUIRE(geometry.has_value());
      check_bytes(*geometry, row);
      CHECK(geometry->checkpoint_bytes() == number(row, "ckpt_B_model"));
      CHECK(geometry->kv_bytes_per_token() == number(row, "kv_B_tok_model"));
      if (model.attention_layers > 0)
        CHECK(geometry->break_even_tokens() ==
              doctest::Approx(std::stod(row.at("Lstar_tokens"))).epsilon(0.02));
      if (number(row, "ssm_B") > 0) CHECK(shape_text(geometry->tensors[0]) == row.at("ssm_shape"));
      if (row.at("conv_shape").front() == '(')
        CHECK(shape_text(geometry->tensors[geometry->tensor_count - 1U]) == row.at("conv_shape"));
      ++rows;
    }
  }
  CHECK(rows == 103 + 57);
}

TEST_CASE("the geometry of every preset on one rank of 1 2 4 and 8 equals the table") {
  // The table divides odd numbers of heads and rounds down; such ranks do not exist here.
  const std::set<std::string> uneven{"Hymba-1.5B 2", "Hymba-1.5B 4", "Hymba-1.5B 8",
                                     "Phi-4-mini-flash 8"};
  std::set<std::string> refused;
  for (const Row& row : read_table("models_tp.csv")) {
    CAPTURE(row.at("model"));
    CAPTURE(row.at("tp"));
    GeometryOptions options;
    options.tensor_parallel = static_cast<std::uint32_t>(number(row, "tp"));
    const auto geometry = make_geometry(find_preset(row.at("model"))->architecture, options);
    if (!geometry) {
      CHECK(geometry.error().code == Error::not_divisible);
      CHECK(std::string_view(geometry.error().field) == "tensor_parallel");
      refused.insert(row.at("model") + " " + row.at("tp"));
      continue;
    }
    CHECK(geometry->tensor_parallel == options.tensor_parallel);
    check_bytes(*geometry, row);
  }
  CHECK(refused == uneven);
}

TEST_CASE("presets say which attention layers have a window and which only draft") {
  CHECK(find_preset("phi-4-mini-flash")->architecture.sliding_window_layers == 8);
  CHECK(find_preset("hymba-1.5b")->architecture.sliding_window_layers == 14);
  CHECK(find_preset("plamo-2-8b")->architecture.sliding_window_layers == 16);
  CHECK(find_preset("falcon-h1-7b")->architecture.sliding_window_layers == 0);
  CHECK(find_preset("qwen3.5-27b")->architecture.draft_attention_layers == 1);
  CHECK(find_preset("nemotron-3-super-120b-a12b")->architecture.draft_attention_layers == 1);
  CHECK(find_preset("nemotron-3-nano-30b-a3b")->architecture.draft_attention_layers == 0);
}

}  // namespace
