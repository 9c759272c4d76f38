// The formula at work. FORMULA is its text, of the sums of both sides and of the node; see
// `spexplain.engines.cupy.formula`. Compiled without fused multiplication and addition, which would round elsewhere.

template <typename T> __device__ __forceinline__ double real(T value) { return (double)value; }

__device__ __forceinline__ i64 floored(i64 a, i64 b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

__device__ __forceinline__ double floored(double a, double b) { return floor(a / b); }

template <typename A, typename B> __device__ __forceinline__ auto least(A a, B b) {
  return a < b ? a : b;
}

template <typename A, typename B> __device__ __forceinline__ auto most(A a, B b) {
  return a > b ? a : b;
}

template <typename T>
__device__ __forceinline__ double score_of(const T* sides, i64 node_inner, i64 node_volume,
                                           i64 node_size) {
  T left_inner = sides[0], left_volume = sides[1], left_size = sides[2];
  T right_inner = sides[3], right_volume = sides[4], right_size = sides[5];
  return (double)(FORMULA);
}

template <typename T>
__device__ __forceinline__ double bound_of(const Border& at, const Trend& trend, int n_variants,
                                           i64 node_inner) {
  double bound = INF;
  for (int variant = 0; variant < n_variants; ++variant) {
    T sides[6];
    write_best_sides(at, trend, variant == 1, sides, 1);
    double corner = score_of(sides, node_inner, at.volume, at.size);
    // Not even the optimistic cut is admissible where a bound is NaN.
    if (corner < bound) bound = corner;
  }
  return bound;
}

// All that `make_sides`, the formula and `pick_borders` do, for all features at once; cuts at borders are
// scored from integers. Blocks: (parts, nodes).
extern "C" __global__ void score_borders(FIELDS, const double* caps, const i64* moves,
                                         i64 n_features, i64 n_borders, i64 trend_inner,
                                         i64 trend_volume, i64 trend_size, i64 min_samples,
                                         Best* parts, double* bounds, i64* counters) {
  __shared__ Best room[256];
  Fields fields = THE_FIELDS;
  Trend trend = {trend_inner, trend_volume, trend_size};
  Extent extent = {gridDim.y, n_features, n_borders, 0, n_features};
  i64 v = blockIdx.y, n_cells = n_features * n_borders;
  if (blockIdx.x == 0 && v == 0 && threadIdx.x < 4) counters[threadIdx.x] = 0;
  BorderPick pick(fields, v, n_borders, min_samples);
  i64 inner = fields.at(v, 0, 0, n_borders - 1);
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells;
       i += (i64)gridDim.x * blockDim.x) {
    i64 f = i / n_borders, b = i % n_borders;
    Border at = border_at(fields, caps, moves, extent, v, f, b);
    int n_variants = moves ? 2 : 1;
    double bound = caps ? bound_of<double>(at, trend, n_variants, inner)
                        : bound_of<i64>(at, trend, n_variants, inner);
    bounds[(v * n_features + f) * n_borders + b] = with_margin(bound);
    i64 sides[6] = {at.now[0], at.now[2], at.now[3],
                    at.now[1], at.volume - at.now[2], at.size - at.now[3]};
    pick.offer(score_of(sides, inner, at.volume, at.size), f, b);
  }
  Best best = block_best(pick.best, room);
  if (threadIdx.x == 0) parts[v * gridDim.x + blockIdx.x] = best;
}

// All that the formula and `pick_gaps` do, for the gaps of a portion; see ``walk.cu``. Blocks: (parts, nodes).
extern "C" __global__ void score_gaps(const i64* gaps, const u8* valid, const int* job_of,
                                      const int* jobs, i64 n_places, i64 n_borders, i64 first_wins,
                                      Best* parts, double* scores) {
  auto score_at = [&](i64 i) {
    i64 sides[6];
#pragma unroll
    for (int field = 0; field < 6; ++field) sides[field] = gaps[field * n_places + i];
    const i64* node = gaps + 6 * n_places + i;
    return scores[i] = score_of(sides, node[0], node[n_places], node[2 * n_places]);
  };
  pick_gaps_by(score_at, valid, job_of, jobs, n_places, n_borders, first_wins, parts);
}
