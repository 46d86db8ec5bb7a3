#include "solve/stretch.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace casimir {
namespace {

constexpr std::size_t kTableBytes = std::size_t{64} << 20;

}  // namespace

void StretchPowers::find_run(double sigma, std::size_t steps) {
  if (count_ == 0 || sigma != sigma_) {
    sigma_ = sigma;
    powers_[0] = kNoSteps.then(step_, sigma);
    count_ = 1;
  }
  const auto needed = static_cast<std::size_t>(std::bit_width(steps));
  for (; count_ < needed; ++count_) powers_[count_] = powers_[count_ - 1].then(powers_[count_ - 1]);
  run_ = {kNoSteps, steps};
  for (std::size_t k = 0; k < needed; ++k)
    if (steps >> k & 1) run_.stretch = run_.stretch.then(powers_[k]);
}

Advanced StretchPowers::advance(double size, double D) const {
  Advanced now{size, 0.0, 0};
  for (auto k = static_cast<std::size_t>(std::bit_width(run_.steps)); k-- > 0;) {
    const Advanced next = now.after(powers_[k], std::size_t{1} << k, D);
    if (next.steps <= run_.steps && !falls_to_zero(next.size, D)) now = next;
  }
  return now;
}

StretchTable::StretchTable(const Penalty& penalty, std::int64_t n_params, double smallest) : smallest_(smallest) {
  find_kinds(penalty, n_params);
  starts_.assign(sigmas_.size(), {0});
  capacity_ = kTableBytes / (sizeof(Stretch) * sigmas_.size());
  stretches_ = std::make_unique_for_overwrite<Stretch[]>(capacity_ * sigmas_.size());
}

void StretchTable::find_kinds(const Penalty& penalty, std::int64_t n_params) {
  if (!penalty.strength) {
    sigmas_ = {penalty.sigma()};
    return;
  }
  kind_.resize(static_cast<std::size_t>(n_params));
  std::unordered_map<double, std::uint32_t> known;
  std::uint32_t kind = 0;
  for (std::int64_t j = 0; j < n_params; ++j) {
    if (penalty.is_fixed(j)) continue;
    const double sigma = penalty.sigma_of(j);
    if (sigmas_.empty() || sigmas_[kind] != sigma) {
      kind = known.try_emplace(sigma, static_cast<std::uint32_t>(sigmas_.size())).first->second;
      if (kind == sigmas_.size()) sigmas_.push_back(sigma);
    }
    kind_[static_cast<std::size_t>(j)] = kind;
  }
  if (sigmas_.empty()) sigmas_ = {penalty.kappa};  // all weights are fixed
  if (sigmas_.size() == 1) kind_.clear();
}

void StretchTable::append(StepSize step) {
  const std::size_t kinds = sigmas_.size();
  Stretch* now = stretches_.get() + count_ * kinds;
  const Stretch* last = count_ > 0 ? now - kinds : nullptr;
  ++count_;
  for (std::size_t k = 0; k < kinds; ++k) {
    const bool starts = !last || last[k].a < smallest_;
    now[k] = (starts ? kNoSteps : last[k]).then(step, sigmas_[k]);
    if (now[k].a < smallest_) starts_[k].push_back(static_cast<std::uint32_t>(count_));
  }
}

void StretchTable::clear() {
  count_ = run_to_ = 0;
  for (auto& starts : starts_) starts.resize(1);
}

void StretchTable::find_run(std::size_t kind, std::size_t from, std::size_t to) {
  run_kind_ = kind, run_from_ = from, run_to_ = to;
  const std::vector<std::uint32_t>& starts = starts_[kind];
  const auto next_start = std::upper_bound(starts.begin(), starts.end(), from);
  if (next_start != starts.end()) to = std::min<std::size_t>(to, *next_start);
  before_run_ = next_start[-1] == from ? kNoSteps : up_to(from);
  run_ = {before_run_.rest(up_to(to)), to - from};
}

Advanced StretchTable::advance(double size, double D) const {
  const auto after = [&](std::size_t steps) {
    return Advanced{size, 0.0, 0}.after(before_run_.rest(up_to(run_from_ + steps)), steps, D);
  };
  std::size_t low = 0, high = run_.steps;  // above 0 after `low` steps, not after `high`; and it falls all the way
  while (low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    (falls_to_zero(after(middle).size, D) ? high : low) = middle;
  }
  return low == 0 ? Advanced{size, 0.0, 0} : after(low);
}

}  // namespace casimir
