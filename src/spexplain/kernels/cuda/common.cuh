// What all kernels share. REAL is the number type of the table, SUM that of the counters of edges, WEIGHT
// that of their weights, FIELD that of the sums at borders.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define INF __longlong_as_double(0x7ff0000000000000ll)
#define LANES 16       // features whose codes of one vertex lie side by side
#define EDGES 256      // room for the edges between the bins of a feature
#define CELLS 2048     // of the grid over the values of a feature
#define FULL 0xffffffffu
#define N_AHEAD 4      // rows that a thread has in flight, to hide the way to memory
#define JOB 7          // numbers of a job: node, feature, bin, first place, places, portion, those filled

// Unsigned integers in the order of the numbers.
__device__ __forceinline__ u64 key_of(double value) {
  u64 bits = (u64)__double_as_longlong(value);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}

__device__ __forceinline__ double value_of(u64 key) {
  return __longlong_as_double((i64)(key >> 63 ? key & 0x7fffffffffffffffull : ~key));
}

// The value of a vertex: a sample of the table, or one of the extra vertices after them.
struct Values {
  const REAL* table;
  i64 row_step, column_step;
  const double* extra;
  i64 extra_step, n_samples;
  __device__ __forceinline__ double at(i64 vertex, i64 feature) const {
    if (vertex < n_samples) return (double)table[vertex * row_step + feature * column_step];
    return extra[(vertex - n_samples) * extra_step + feature];
  }
};

#define VALUES                                                                               \
  const REAL *table, i64 row_step, i64 column_step, const double *extra, i64 extra_step, \
      i64 n_samples
#define THE_VALUES {table, row_step, column_step, extra, extra_step, n_samples}

// Sums left of the borders of one or two nodes: joined, rest, volume, size, members, samples. The last of
// them are not stored where they equal the one before.
struct Fields {
  const FIELD *first, *second;
  i64 field_step, feature_step, n_stored;
  __device__ __forceinline__ i64 at(i64 node, i64 field, i64 feature, i64 border) const {
    const FIELD* own = node ? second : first;
    return (i64)own[min(field, n_stored - 1) * field_step + feature * feature_step + border];
  }
};

#define FIELDS                                                                               \
  const FIELD *first_fields, const FIELD *second_fields, i64 field_step, i64 feature_step, \
      i64 n_stored
#define THE_FIELDS {first_fields, second_fields, field_step, feature_step, n_stored}

// Sums over all threads up to this one; every thread of the block must come along.
template <typename T>
__device__ __forceinline__ T block_scan(T value, T* warp_sums) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int step = 1; step < 32; step <<= 1) {
    T before = __shfl_up_sync(FULL, value, step);
    if (lane >= step) value += before;
  }
  if (lane == 31) warp_sums[warp] = value;
  __syncthreads();
  for (int w = 0; w < warp; ++w) value += warp_sums[w];
  __syncthreads();
  return value;
}

template <typename T>
__device__ __forceinline__ T warp_scan(T value) {
  int lane = threadIdx.x & 31;
  for (int step = 1; step < 32; step <<= 1) {
    T before = __shfl_up_sync(FULL, value, step);
    if (lane >= step) value += before;
  }
  return value;
}
