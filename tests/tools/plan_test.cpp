// `hybridmem plan`: the paper's budgets, splits, mixes and sequences.
#include <string>
#include <vector>

#include "hybridmem/model/preset.hpp"
#include "invoke.hpp"

using namespace hybridmem_test;
using nlohmann::json;

namespace {

const std::vector<std::string> shared{"coarse_pages", "paged_recurrent", "slab_packed"};

}  // namespace

TEST_CASE("plan gives the paper's pages and bytes at b63") {
  const json plan = report({"plan", "--model", "falcon-h1-7b", "--budget", "b63"});
  CHECK(plan["model"] == "falcon-h1-7b");
  CHECK(plan["budget_bytes"] == 101'154'816);
  CHECK(plan["budget_scope"] == "per_layer");
  CHECK(plan["budget_rounding"] == "nearest");
  const json& organizations = plan["organizations"];
  CHECK(organizations["coarse_pages"]["pages"] == 63);
  CHECK(organizations["coarse_pages"]["bytes"] == 100'445'184);
  CHECK(organizations["paged_recurrent"]["pages"] == 193);
  CHECK(organizations["paged_recurrent"]["bytes"] == 101'187'584);
  CHECK(organizations["slab_packed"]["pages"] == 193);
  CHECK(organizations["slab_packed"]["bytes"] == 101'187'584);
  const json& dual = organizations["static_dual_pool"];
  CHECK(dual["attention_pages"] == 3'256);
  CHECK(dual["recurrent_pages"] == 29);
  CHECK(dual["bytes"] == 99'582'976);
  CHECK(dual["attention_fraction"].get<double>() == doctest::Approx(0.527383));
  CHECK(dual["split"] == "paper");
  CHECK_FALSE(dual.contains("candidates"));
  CHECK_FALSE(plan.contains("capacity"));
  CHECK_FALSE(plan.contains("servable"));
}

TEST_CASE("plan never exceeds a budget in bytes") {
  const std::uint64_t budget = std::uint64_t{8} << 30U;
  const json plan = report({"plan", "--model", "falcon-h1-7b", "--budget", "8GiB"});
  CHECK(plan["budget_bytes"] == budget);
  CHECK(plan["budget_scope"] == "total");
  CHECK(plan["budget_rounding"] == "down");
  const std::uint64_t page = std::uint64_t{524'288} * 44;
  CHECK(plan["organizations"]["slab_packed"]["pages"] == budget / page);
  CHECK(plan["organizations"]["slab_packed"]["bytes"] == budget / page * page);
  for (const auto& [name, organization] : plan["organizations"].items()) {
    CAPTURE(name);
    CHECK(organization["bytes"].get<std::uint64_t>() <= budget);
  }
}

TEST_CASE("plan counts a mix in each organization") {
  const json plan = report({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--mix", "3,1"});
  CHECK(plan["mix"] == json::parse(R"({"attention_blocks": 3, "checkpoints": 1})"));
  // 63 / 4; 193 / 7; 6 n + ceil(n / 16) <= 193; min(3256 / 96, 29).
  CHECK(plan["capacity"] == json::parse(R"({"coarse_pages": 15, "paged_recurrent": 27,
                                            "slab_packed": 31, "static_dual_pool": 29})"));
  for (const auto& [name, organization] : plan["organizations"].items())
    CHECK(organization["capacity"] == plan["capacity"][name]);
  CHECK(plan["organizations"]["static_dual_pool"]["capacity_limited_by"] == "recurrent");
  CHECK(plan["organizations"]["slab_packed"]["capacity_limited_by"] == "shared_pool");
}

TEST_CASE("plan says how many sequences fit and what limits them") {
  const json plan = report({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--sequences",
                            "16", "--length", "4000", "--checkpoints", "1"});
  CHECK(plan["sequences"] ==
        json::parse(R"({"count": 16, "length_tokens": 4000, "cached_checkpoints": 1})"));
  const json& slab = plan["organizations"]["slab_packed"];
  CHECK(slab["blocks_per_sequence"] == 8);
  CHECK(slab["servable"] == 13);  // 8 n + 6 n + ceil(2 n / 16) <= 193
  CHECK(slab["limited_by"] == "shared_pool");
  CHECK(slab["fits"] == false);
  CHECK(slab["attention_share"].get<double>() == doctest::Approx(8.0 / (8 + 6 + 2.0 / 16)));
  const json& dual = plan["organizations"]["static_dual_pool"];
  CHECK(dual["blocks_per_sequence"] == 250);
  CHECK(dual["servable"] == 13);  // 3256 / 250 and 29 / 2
  CHECK(dual["limited_by"] == "attention");
  CHECK_FALSE(dual.contains("attention_share"));
  for (const auto& [name, organization] : plan["organizations"].items())
    CHECK(organization["servable"] == plan["servable"][name]);
  CHECK(
      report({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--sequences", "13", "--length",
              "4000", "--checkpoints", "1"})["organizations"]["slab_packed"]["fits"] == true);
}

TEST_CASE("plan takes the split that is given") {
  const json plan =
      report({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--split", "0.25"});
  const json& dual = plan["organizations"]["static_dual_pool"];
  CHECK(dual["split"] == "given");
  CHECK(dual["attention_fraction"] == 0.25);
  CHECK(dual["attention_pages"] == 101'154'816 / 4 / 16'384);
  CHECK(dual["recurrent_pages"] == 101'154'816 / 4 * 3 / 1'594'368);
  CHECK(report({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--split",
                "1"})["organizations"]["static_dual_pool"]["recurrent_pages"] == 0);
}

TEST_CASE("plan has the paper's split for Granite") {
  const json plan = report({"plan", "--model", "granite-4.0-h-micro", "--budget", "b63"});
  CHECK(plan["organizations"]["static_dual_pool"]["split"] == "paper");
  CHECK(plan["organizations"]["static_dual_pool"]["attention_fraction"].get<double>() ==
        doctest::Approx(0.199699));
}

TEST_CASE("plan searches nine splits where the paper has none") {
  const std::vector<std::string_view> base{"plan", "--model", "qwen3-next-80b-a3b", "--budget",
                                           "8GiB"};
  const auto dual_of = [&](std::vector<std::string_view> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return report(more)["organizations"]["static_dual_pool"];
  };
  const json by_mix = dual_of({"--mix", "4,1"});
  CHECK(by_mix["split"] == "searched");
  CHECK(by_mix["judged_by"] == "mix");
  REQUIRE(by_mix["candidates"].size() == 9);
  std::uint64_t most = 0;
  for (const json& candidate : by_mix["candidates"]) {
    most = std::max(most, candidate["capacity"].get<std::uint64_t>());
    if (candidate["attention_fraction"] == 0.5)
      CHECK(candidate["capacity"] == by_mix["half"]["capacity"]);
    if (candidate["attention_fraction"] == by_mix["attention_fraction"])
      CHECK(candidate["capacity"] == by_mix["capacity"]);
  }
  CHECK(by_mix["capacity"] == most);
  CHECK(by_mix["half"]["attention_fraction"] == 0.5);

  const json by_sequences = dual_of({"--sequences", "4", "--length", "100000"});
  CHECK(by_sequences["judged_by"] == "sequences");
  CHECK(by_sequences["judged_mix"]["attention_blocks"] == 6'250);
  CHECK(by_sequences["half"].contains("servable"));
  CHECK(dual_of({})["judged_by"] == "interval");
  CHECK(dual_of({})["judged_mix"]["checkpoints"] == 1);
}

TEST_CASE("plan for people reads as recorded") {
  CHECK(print({"plan", "--model", "falcon-h1-7b", "--budget", "b63", "--mix", "3,1", "--sequences",
               "64", "--length", "4096"}) == expected_text("plan_falcon-h1-7b.txt"));
}

TEST_CASE("plan uses the same layout options as layout") {
  const json plan = report({"plan", "--model", "falcon-h1-7b", "--budget", "8GiB", "--block-tokens",
                            "256", "--stack-layers", "22"});
  CHECK(plan["block_tokens"] == 256);
  CHECK(plan["page_bytes"] == 262'144);
  CHECK(plan["stack_layers"] == 22);
  CHECK(plan["organizations"]["slab_packed"]["pages"] ==
        (std::uint64_t{8} << 30U) / (262'144 * 22));
}

TEST_CASE("every preset has a readable plan") {
  for (const hybridmem::ModelPreset& preset : hybridmem::model_presets()) {
    const std::string_view name = preset.architecture.name.view();
    CAPTURE(name);
    for (const char* budget : {"8GiB", "b108"})
      for (const std::vector<std::string_view>& demand :
           {std::vector<std::string_view>{},
            {"--mix", "4,1"},
            {"--sequences", "16", "--length", "32768", "--checkpoints", "2"}}) {
        std::vector<std::string_view> arguments{"plan", "--model", name, "--budget", budget};
        arguments.insert(arguments.end(), demand.begin(), demand.end());
        check_readable(print(arguments));
        const json plan = report(arguments);
        for (const std::string& organization : shared)
          CHECK(plan["organizations"][organization].contains("pages"));
        CHECK(plan["organizations"]["static_dual_pool"].contains("split"));
      }
  }
}
