// The best cuts: of those at the borders of bins, with bounds of those in between, and of those at gaps.

// One side of a cut at its best for the formula: each field from the smaller or the larger of two nested
// sets, by the trend, and no more inner weight than the cap allows per volume (or size): the same as in
// `spexplain.objectives.bounds`.
struct Trend {
  i64 inner, volume, size;
};

template <typename T>
__device__ __forceinline__ void write_optimistic(const i64* smaller, const i64* larger,
                                                 const Trend& trend, const double* cap, T* out,
                                                 i64 step) {
  T inner = (T)(trend.inner < 0 ? larger[0] : smaller[0]);
  T volume = (T)(trend.volume < 0 ? larger[1] : smaller[1]);
  T size = (T)(trend.size < 0 ? larger[2] : smaller[2]);
  if (trend.inner < 0 && trend.volume > 0) {
    // An edge that comes to lie inside has an end among the vertices that were added.
    volume += (T)((larger[0] - smaller[0] + 1) / 2);
    inner = min(inner, volume);
  }
  // A side without volume (or size) is inadmissible where it would be best.
  if (trend.volume > 0) volume = max(volume, (T)1);
  if (trend.size > 0) size = max(size, (T)1);
  if (cap && trend.inner < 0) {
    if (trend.volume > 0)
      inner = min(inner, (T)(*cap * (double)volume));
    else if (trend.size > 0)
      inner = min(inner, (T)(*cap * (double)size));
  }
  out[0] = inner;
  out[step] = volume;
  out[2 * step] = size;
}

// What the formula is asked for: sides of the cuts at all borders, and after them sides at their best
// for the cuts inside the bin after each border; with moves twice, with the largest cluster right and
// left. Of the features from `start` on, n_here. Sides: (6, variants, nodes, n_here, borders): inner,
// volume, size left, the same right. As doubles where there are caps, since these are no integers; else
// as exact integers. Totals, written with the first feature: inner, volume, size of the nodes.
struct Extent {
  i64 n_nodes, n_features, n_borders, start, n_here;
};

// What is known at one border of a feature, and at the next.
struct Border {
  i64 now[4], after[4], move[4];
  i64 volume, size;  // of the node
  const double *left_cap, *right_cap;
};

__device__ __forceinline__ Border border_at(const Fields& fields, const double* caps,
                                            const i64* moves, const Extent& extent, i64 v, i64 f,
                                            i64 b) {
  i64 end = extent.n_borders - 1, next = min(b + 1, end);
  i64 line = (v * extent.n_features + f) * extent.n_borders;
  i64 n_all = extent.n_nodes * extent.n_features * extent.n_borders;
  Border at;
#pragma unroll
  for (int field = 0; field < 4; ++field) {
    at.now[field] = fields.at(v, field, f, b);
    at.after[field] = fields.at(v, field, f, next);
    at.move[field] = moves ? moves[field * n_all + line + b] : 0;
  }
  at.volume = fields.at(v, 2, f, end);
  at.size = fields.at(v, 3, f, end);
  at.left_cap = caps ? caps + line + next : 0;
  at.right_cap = caps ? caps + n_all + line + b : 0;
  return at;
}

// The sides at their best for the cuts inside the bin after a border, with its largest cluster right or left.
template <typename T>
__device__ __forceinline__ void write_best_sides(const Border& at, const Trend& trend, bool moved,
                                                 T* out, i64 step) {
  i64 low[4], high[4];
#pragma unroll
  for (int field = 0; field < 4; ++field) {
    low[field] = at.now[field] + (moved ? at.move[field] : 0);
    high[field] = at.after[field] - (moved ? 0 : at.move[field]);
  }
  i64 left_low[3] = {low[0], low[2], low[3]}, left_high[3] = {high[0], high[2], high[3]};
  i64 right_low[3] = {high[1], at.volume - high[2], at.size - high[3]};
  i64 right_high[3] = {low[1], at.volume - low[2], at.size - low[3]};
  write_optimistic(left_low, left_high, trend, at.left_cap, out, step);
  write_optimistic(right_low, right_high, trend, at.right_cap, out + 3 * step, step);
}

template <typename T>
__device__ void make_sides_of(const Fields& fields, const double* caps, const i64* moves,
                              const Extent& extent, const Trend& trend, T* sides, i64* totals) {
  i64 n_borders = extent.n_borders, n_nodes = extent.n_nodes;
  i64 n_cells = n_nodes * extent.n_here * n_borders, n_variants = moves ? 3 : 2;
  i64 step = n_variants * n_cells;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells;
       i += (i64)gridDim.x * blockDim.x) {
    i64 b = i % n_borders, f = extent.start + i / n_borders % extent.n_here;
    i64 v = i / n_borders / extent.n_here;
    Border at = border_at(fields, caps, moves, extent, v, f, b);
    if (f == 0 && b == n_borders - 1) {
      totals[v] = at.now[0];
      totals[n_nodes + v] = at.volume;
      totals[2 * n_nodes + v] = at.size;
    }
    sides[i] = (T)at.now[0];
    sides[step + i] = (T)at.now[2];
    sides[2 * step + i] = (T)at.now[3];
    sides[3 * step + i] = (T)at.now[1];
    sides[4 * step + i] = (T)(at.volume - at.now[2]);
    sides[5 * step + i] = (T)(at.size - at.now[3]);
    for (int variant = 1; variant < n_variants; ++variant)
      write_best_sides(at, trend, variant == 2, sides + variant * n_cells + i, step);
  }
}

extern "C" __global__ void make_sides(FIELDS, const double* caps, const i64* moves, i64 n_nodes,
                                      i64 n_features, i64 n_borders, i64 start, i64 n_here,
                                      i64 trend_inner, i64 trend_volume, i64 trend_size,
                                      void* sides, i64* totals) {
  Fields fields = THE_FIELDS;
  Trend trend = {trend_inner, trend_volume, trend_size};
  Extent extent = {n_nodes, n_features, n_borders, start, n_here};
  if (caps)
    make_sides_of(fields, caps, moves, extent, trend, (double*)sides, totals);
  else
    make_sides_of(fields, caps, moves, extent, trend, (i64*)sides, totals);
}

#define MARGIN 1e-12  // relative; far above what rounding does to a bound

struct Best {
  double score;
  i64 rank, place;  // equal scores resolve to the lower rank, then place
  __device__ __forceinline__ bool beats(const Best& other) const {
    if (score != other.score) return score < other.score;
    return rank != other.rank ? rank < other.rank : place < other.place;
  }
};

__device__ Best block_best(Best mine, Best* room) {
  room[threadIdx.x] = mine;
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half && room[threadIdx.x + half].beats(room[threadIdx.x]))
      room[threadIdx.x] = room[threadIdx.x + half];
  }
  __syncthreads();
  return room[0];
}

// A bound with room for what rounding does to it.
__device__ __forceinline__ double with_margin(double bound) {
  return bound < INF ? bound - MARGIN * fabs(bound) : bound;
}

// Take a cut at a border if it is admissible and better than the best so far.
struct BorderPick {
  const Fields& fields;
  i64 v, n_borders, min_samples, n_members, n_samples;
  Best best;

  __device__ __forceinline__ BorderPick(const Fields& fields, i64 v, i64 n_borders, i64 min_samples)
      : fields(fields), v(v), n_borders(n_borders), min_samples(min_samples),
        n_members(fields.at(v, 4, 0, n_borders - 1)), n_samples(fields.at(v, 5, 0, n_borders - 1)),
        best({INF, 0, 0}) {}

  __device__ __forceinline__ void offer(double score, i64 f, i64 b) {
    if (!(score < INF)) return;
    i64 members = fields.at(v, 4, f, b), samples = fields.at(v, 5, f, b);
    if (members == 0 || members == n_members) return;
    if (samples < min_samples || samples > n_samples - min_samples) return;
    Best found = {score, f * n_borders + b, -1};
    if (found.beats(best)) best = found;
  }
};

// The best cut at a border of the features from `start` on, n_here, and the bounds of the cuts in
// between. Scores: (1 + n_bounds, nodes, n_here, borders). Bounds: (nodes, features, borders), the least
// of those of a bin. Parts: n_parts a node, of which this writes one a block; blocks: (parts, nodes).
// Also clears the counters of jobs and places.
extern "C" __global__ void pick_borders(const double* scores, i64 n_bounds, FIELDS, i64 start,
                                        i64 n_here, i64 n_features, i64 n_borders,
                                        i64 min_samples, Best* parts, i64 n_parts, double* bounds,
                                        i64* counters) {
  __shared__ Best room[256];
  Fields fields = THE_FIELDS;
  i64 v = blockIdx.y, n_cells = n_here * n_borders;
  if (blockIdx.x == 0 && v == 0 && threadIdx.x < 4) counters[threadIdx.x] = 0;
  BorderPick pick(fields, v, n_borders, min_samples);
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells;
       i += (i64)gridDim.x * blockDim.x) {
    i64 f = start + i / n_borders, b = i % n_borders;
    double bound = INF;
    for (int c = 1; c <= n_bounds; ++c) {
      double corner = scores[(c * gridDim.y + v) * n_cells + i];
      // Not even the optimistic cut is admissible where a bound is NaN.
      if (corner < bound) bound = corner;
    }
    bounds[(v * n_features + f) * n_borders + b] = with_margin(bound);
    pick.offer(scores[v * n_cells + i], f, b);
  }
  Best best = block_best(pick.best, room);
  if (threadIdx.x == 0) parts[v * n_parts + blockIdx.x] = best;
}

// The best gap of every node; blocks: (parts, nodes). With `first_wins` all admissible cuts tie.
template <typename Score>
__device__ __forceinline__ void pick_gaps_by(const Score& score_at, const u8* valid,
                                             const int* job_of, const int* jobs, i64 n_places,
                                             i64 n_borders, i64 first_wins, Best* parts) {
  __shared__ Best room[256];
  Best mine = {INF, 0, 0};
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_places;
       i += (i64)gridDim.x * blockDim.x) {
    if (job_of[i] < 0 || !valid[i]) continue;
    const int* job = jobs + JOB * (i64)job_of[i];
    if (job[0] != blockIdx.y) continue;
    double score = score_at(i);
    if (!(score < INF)) continue;
    Best found = {first_wins ? 0.0 : score, job[1] * n_borders + job[2], i};
    if (found.beats(mine)) mine = found;
  }
  mine = block_best(mine, room);
  if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = mine;
}

extern "C" __global__ void pick_gaps(const double* scores, const u8* valid, const int* job_of,
                                     const int* jobs, i64 n_places, i64 n_borders, i64 first_wins,
                                     Best* parts) {
  pick_gaps_by([&](i64 i) { return scores[i]; }, valid, job_of, jobs, n_places, n_borders,
               first_wins, parts);
}
