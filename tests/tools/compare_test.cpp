// `hybridmem compare`: rows whose counters add up, a verdict that agrees with them, and every
// refusal in one line.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "hybridmem/organization/organization_layout.hpp"
#include "invoke.hpp"

using namespace hybridmem_test;
using nlohmann::json;

namespace {

/// A file in the temporary directory that goes away.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("hybridmem_compare_test_" + name)) {
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

std::vector<std::string_view> small(std::vector<std::string_view> more = {}) {
  std::vector<std::string_view> arguments{"compare",  "--model",    "falcon-h1-7b",
                                          "--budget", "b63",        "--workload",
                                          "paper",    "--requests", "24"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const json& row_of(const json& report, const std::string& name) {
  for (const json& row : report["rows"])
    if (row["organization"] == name) return row;
  FAIL("no row of " << name);
  return report["rows"][0];
}

/// A counter of a row as a number.
double counter(const json& row, const std::string& name) {
  return row.at(name).get<double>();
}

}  // namespace

TEST_CASE("compare gives one row an organization, with every counter") {
  const json compared = report(small());
  for (const char* key : {"workload", "cost_model", "engine", "rows", "best", "why", "warnings"})
    CHECK(compared.contains(key));
  CHECK(compared["cost_model"]["kind"] == "paper");
  CHECK(compared["engine"]["free_order"] == "unpublished_first");
  CHECK(compared["engine"]["slab_order"] == "last_release");
  CHECK(compared["engine"]["slot_placement"] == "fullest");
  CHECK(compared["split"] == "paper");
  CHECK(compared["interrupted"] == false);
  REQUIRE(compared["rows"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const json& row = compared["rows"][i];
    CHECK(row["organization"] == name_of(hybridmem::organization_kinds[i]));
    for (const char* key :
         {"pages", "output_tokens_per_s", "ttft_p50_s", "ttft_p99_s", "e2e_p99_s", "tpot_p99_s",
          "prefill_tokens", "saved_tokens", "joint_depth_mean", "limited_by", "preemptions",
          "cross_invalidations", "stranded_fraction", "running_mean", "waiting_mean"})
      CHECK(row.contains(key));
    for (const char* key : {"attention", "recurrent", "none"})
      CHECK(row["limited_by"].contains(key));
  }
  CHECK(row_of(compared, "slab_packed")["pages"] == 193);
  CHECK(row_of(compared, "static_dual_pool")["attention_pages"] == 3'256);
}

TEST_CASE("every request ends once and tokens add up") {
  const json compared = report(small());
  const json& workload = compared["workload"];
  for (const json& row : compared["rows"]) {
    CAPTURE(row);
    CHECK(row["served"].get<std::uint64_t>() + row["unservable"].get<std::uint64_t>() == 24);
    CHECK(row["run"]["audit_findings"] == 0);
    CHECK(row["run"]["output_tokens"] == workload["output_tokens"]);
    CHECK(row["run"]["prefill_tokens"] == row["prefill_tokens"]);
    CHECK(row["saved_tokens"] <= row["sharing_bound_tokens"]);
    const json& limits = row["limited_by"];
    CHECK(limits["attention"].get<int>() + limits["recurrent"].get<int>() +
              limits["none"].get<int>() ==
          24);
    // Without preemptions, each prompt token is reused or computed once.
    if (row["preemptions"] == 0)
      CHECK(row["saved_tokens"].get<std::uint64_t>() + row["prefill_tokens"].get<std::uint64_t>() ==
            workload["input_tokens"].get<std::uint64_t>());
  }
}

TEST_CASE("compare prints the same bytes for the same seed, and others for another") {
  for (const char* form : {"--json", "--csv", "--paper-rules"}) {
    const std::string first = invoke(small({form})).out;
    CHECK(first == invoke(small({form})).out);
    CHECK(first != invoke(small({form, "--seed", "1"})).out);
  }
}

TEST_CASE("the verdict agrees with the counters") {
  for (const char* seed : {"0", "1", "2"}) {
    const json compared = report(small({"--seed", seed, "--rate", "6"}));
    const json& rows = compared["rows"];
    const json& best = rows[compared["best_row"].get<std::size_t>()];
    const json& other = rows[compared["compared_with_row"].get<std::size_t>()];
    const std::string why = compared["why"];
    CHECK(best["organization"] == compared["best"]);
    CHECK(why.starts_with(compared["best"].get<std::string>() + " is best: "));
    CHECK(why.find(other["organization"].get<std::string>()) != std::string::npos);
    for (const json& row : rows)
      CHECK(counter(best, "output_tokens_per_s") >= 0.99 * counter(row, "output_tokens_per_s"));
    const std::set<std::string> more_is_better{"saved_tokens", "running_mean"};
    for (const json& reason : compared["reasons"]) {
      CAPTURE(reason);
      const std::string name = reason["counter"];
      CHECK(counter(reason, "best") == counter(best, name));
      CHECK(counter(reason, "other") == counter(other, name));
      CHECK(reason["favours_best"] ==
            ((counter(best, name) > counter(other, name)) == more_is_better.contains(name)));
    }
  }
}

TEST_CASE("compare says so when more is offered than can be done") {
  const json over = report(small({"--rate", "100"}));
  CHECK(row_of(over, "slab_packed")["load"] > 1.0);
  CHECK(over["warnings"].dump().find("overload") != std::string::npos);
  const json fitted = report(small({"--rate", "100", "--rate-scale", "auto"}));
  double least = 1e9;
  for (const json& row : fitted["rows"]) least = std::min(least, counter(row, "load"));
  CHECK(least == doctest::Approx(0.8).epsilon(1e-4));
  CHECK(fitted["workload"]["rate_scale"] < 1.0);
}

TEST_CASE("a request that never fits is counted and the run goes on") {
  const TemporaryFile trace(
      "large.jsonl",
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, "
      "\"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 10, \"input_length\": 90000, \"output_length\": 5, "
      "\"hash_ids\": [" +
          [] {
            std::string ids = "0";
            for (int i = 1; i < 176; ++i) ids += "," + std::to_string(i);
            return ids;
          }() +
          "]}\n"
          "{\"timestamp\": 5000, \"input_length\": 700, \"output_length\": "
          "5, \"hash_ids\": [0, 1]}\n");
  const std::string path = trace.path();
  const json compared =
      report({"compare", "--model", "falcon-h1-7b", "--budget", "b63", "--trace", path});
  CHECK(compared["workload"]["requests"] == 3);
  for (const json& row : compared["rows"])
    CHECK(row["served"].get<int>() == compared["workload"]["ranked_requests"].get<int>());
  CHECK(row_of(compared, "coarse_pages")["unservable"] == 1);
  CHECK(compared["workload"]["ranked_requests"] == 2);
  CHECK(compared["warnings"].dump().find("coarse_pages can never hold 1 request of 3") !=
        std::string::npos);
}

TEST_CASE("a trace without prefixes is replayed without sharing and says so") {
  const TemporaryFile trace("lengths.csv",
                            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:17:03.9799600,480,10\n"
                            "2023-11-16 18:17:04.0319600,480,8\n");
  const std::string path = trace.path();
  const json compared =
      report({"compare", "--model", "falcon-h1-7b", "--budget", "b63", "--trace", path});
  CHECK(compared["workload"]["has_sharing"] == false);
  CHECK(compared["warnings"].dump().find("without sharing") != std::string::npos);
  for (const json& row : compared["rows"]) CHECK(row["saved_tokens"] == 0);
}

TEST_CASE("what the paper fixed nothing for is searched and comes from a roofline") {
  const json compared =
      report({"compare", "--model", "nemotron-h-8b", "--budget", "2GiB", "--workload", "burst",
              "--requests", "8", "--organizations", "D0,S2", "--device", "h100"});
  CHECK(compared["cost_model"]["kind"] == "roofline");
  CHECK(compared["cost_model"]["device"] == "H100");
  CHECK(compared["split"] == "searched");
  CHECK(compared["split_search"]["candidates"].size() == 9);
  CHECK(compared["rows"][0]["organization"] == "static_dual_pool");
}

TEST_CASE("paper rules are printed") {
  const json compared = report(small({"--paper-rules", "--organizations", "S2"}));
  CHECK(compared["engine"]["checkpoints"] == "required");
  CHECK(compared["engine"]["slab_order"] == "creation");
  CHECK(compared["engine"]["slot_placement"] == "fifo");
  CHECK(compared["engine"]["pinning"] == 2);
  CHECK(compared["rows"][0]["pages"] == 192);
}

TEST_CASE("compare reads well, and draws") {
  const std::string text = print(small());
  check_readable(text);
  CHECK(text.find("\n* ") != std::string::npos);
  CHECK(text.find("unpublished_first") != std::string::npos);
  const TemporaryFile plot("plot.svg", "");
  const std::string path = plot.path();
  static_cast<void>(print(small({"--plot", path})));
  const std::string svg = plot.text();
  CHECK(svg.starts_with("<?xml"));
  CHECK(svg.ends_with("</svg>\n"));
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos;
       at = svg.find("<rect x=", at + 1))
    ++bars;
  CHECK(bars == 12);
}

TEST_CASE("csv has a header and as many cells in each line") {
  const std::string csv = invoke(small({"--csv"})).out;
  std::istringstream lines(csv);
  std::string line;
  std::vector<std::ptrdiff_t> commas;
  while (std::getline(lines, line)) commas.push_back(std::count(line.begin(), line.end(), ','));
  REQUIRE(commas.size() == 5);
  for (const std::ptrdiff_t count : commas) CHECK(count == commas.front());
}

TEST_CASE("compare refuses what it cannot run, in one line") {
  const auto refused = [](std::vector<std::string_view> arguments, const std::string& line) {
    const Outcome outcome = invoke(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err == "hybridmem compare: " + line + "\n");
  };
  const std::vector<std::string_view> start{"compare", "--model", "falcon-h1-7b"};
  const auto with = [&start](std::vector<std::string_view> more) {
    more.insert(more.begin(), start.begin(), start.end());
    return more;
  };
  refused(with({"--budget", "b63"}),
          "--trace is missing: expected a file of requests, or --workload paper, chat or burst");
  refused(with({"--workload", "paper"}),
          "--budget is missing: expected bytes such as 8GiB, or the paper's b63, b83 or b108");
  refused(with({"--budget", "b63", "--workload", "poem"}),
          "--workload = poem: expected paper, chat or burst");
  refused(small({"--organizations", "S0,S9"}),
          "--organizations = S9: expected coarse_pages, paged_recurrent, slab_packed, "
          "static_dual_pool (or S0, S1, S2, D0), with commas between them, or all");
  refused(small({"--headroom", "1"}), "--headroom = 1: expected a number from 0 to 0.99");
  refused(small({"--cap", "0"}), "--cap = 0: expected a whole number from 1 to 4096");
  refused(small({"--rate-scale", "0"}),
          "--rate-scale = 0: expected a number from 1e-06 to 1000000");
  refused(small({"--json", "--csv"}), "--json and --csv: expected one of them, not both");
  refused(small({"--trace", "x"}), "--trace and --workload: expected one of them, not both");
  refused(small({"--plot", "/nowhere/x.svg"}),
          "--plot = /nowhere/x.svg: expected a file that can be written");
  refused(with({"--budget", "1KiB", "--workload", "paper"}),
          "--budget = 1KiB: expected room for one attention block and one state in some "
          "organization (see hybridmem plan)");
  refused(with({"--budget", "200MiB", "--workload", "paper", "--requests", "3"}),
          "--budget = 200MiB: expected room for one request; none of 3 fits any organization, even "
          "alone");
}

TEST_CASE("a wrong trace is refused with its line and reason") {
  const std::string good =
      "{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 1]}\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", ": "},
      {good + "{nonsense\n", ":2: "},
      {good + "{\"timestamp\": 6, \"input_length\": 0, \"output_length\": 5, \"hash_ids\": []}\n",
       ":2: "},
      {good + "{\"timestamp\": 6, \"input_length\": 9, \"output_length\": 0, \"hash_ids\": [0]}\n",
       ":2: "},
      {good + "{\"timestamp\": 4, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [0]}\n",
       ":2: "},
      {good +
           "{\"timestamp\": 6, \"input_length\": 9000, \"output_length\": 5, \"hash_ids\": [0]}\n",
       ":2: "},
  };
  for (const auto& [text, where] : cases) {
    CAPTURE(text);
    const TemporaryFile trace("wrong.jsonl", text);
    const std::string path = trace.path();
    const Outcome outcome =
        invoke({"compare", "--model", "falcon-h1-7b", "--budget", "b63", "--trace", path});
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err.starts_with("hybridmem compare: --trace: "));
    CHECK(outcome.err.find(where) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
  CHECK(invoke({"compare", "--model", "falcon-h1-7b", "--budget", "b63", "--trace", "/nowhere"})
            .status == 2);
}
