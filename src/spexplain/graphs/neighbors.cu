// Exact nearest neighbours: candidates by products of rounded points, ranked anew in double precision.
typedef long long i64;
typedef unsigned char u8;
#define INF __longlong_as_double(0x7ff0000000000000ll)
#define NO_FLOAT __int_as_float(0x7f800000)  // infinity
#define N_CANDIDATES 1024

// A column's values become (x * before - mean) / deviation * after; powers of two around exact steps.
struct Points {
  const REAL* table;
  i64 row_step, column_step, n_columns;
  const double *before, *mean, *deviation;
  double after;
  __device__ __forceinline__ double at(i64 row, i64 j) const {
    double x = (double)table[row * row_step + j * column_step] * before[j];
    return (x - mean[j]) / deviation[j] * after;
  }
};

#define POINTS                                                                              \
  const REAL *table, i64 row_step, i64 column_step, i64 n_columns, const double *before, \
      const double *mean, const double *deviation, double after
#define THE_POINTS {table, row_step, column_step, n_columns, before, mean, deviation, after}

__device__ __forceinline__ double warp_sum(double value) {
  for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// Sums of (x * before - mean), or of their squares, over parts of the rows: (parts, columns).
// Blocks: (columns / 32, parts) of 256 threads.
extern "C" __global__ void sum_columns(const REAL* table, i64 row_step, i64 column_step,
                                       i64 n_columns, i64 n_rows, const double* before,
                                       const double* mean, i64 squared, double* sums) {
  __shared__ double room[8][33];
  i64 j = (i64)blockIdx.x * 32 + (threadIdx.x & 31);
  double total = 0;
  if (j < n_columns)
    for (i64 row = (i64)blockIdx.y * 8 + (threadIdx.x >> 5); row < n_rows; row += 8ll * gridDim.y) {
      double x = (double)table[row * row_step + j * column_step] * before[j] - mean[j];
      total += squared ? x * x : x;
    }
  room[threadIdx.x >> 5][threadIdx.x & 31] = total;
  __syncthreads();
  if (threadIdx.x < 32 && j < n_columns) {
    for (int part = 1; part < 8; ++part) total += room[part][threadIdx.x];
    sums[blockIdx.y * n_columns + j] = total;
  }
}

// Points in half precision, the squared lengths of these, and how far each is from its point. A warp a
// row; rounded has rows of n_padded numbers, zeros beyond the columns.
extern "C" __global__ void round_points(POINTS, i64 n_rows, i64 n_padded, unsigned short* rounded,
                                        float* lengths, float* errors) {
  Points points = THE_POINTS;
  i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (row >= n_rows) return;
  int lane = threadIdx.x & 31;
  double length = 0, error = 0;
  for (i64 j = lane; j < n_padded; j += 32) {
    double x = j < n_columns ? points.at(row, j) : 0;
    unsigned short h;
    float nearest;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(x));
    asm("cvt.f32.f16 %0, %1;" : "=f"(nearest) : "h"(h));
    double back = (double)nearest;
    rounded[row * n_padded + j] = h;
    length += back * back;
    error += (x - back) * (x - back);
  }
  length = warp_sum(length);
  error = warp_sum(error);
  if (lane == 0) {
    lengths[row] = (float)length;
    errors[row] = __double2float_ru(sqrt(error) * (1 + 1e-9));
  }
}

// A squared distance to ten digits: those that agree are ties.
__device__ __forceinline__ double to_ten_digits(double distance) {
  int exponent;
  double mantissa = frexp(distance, &exponent);
  return ldexp(rint(ldexp(mantissa, 34)), exponent - 34);
}

__device__ double squared_distance(const Points& points, const double* own, i64 other) {
  double total = 0;
  for (i64 j = threadIdx.x & 31; j < points.n_columns; j += 32) {
    double gap = own[j] - points.at(other, j);
    total += gap * gap;
  }
  return warp_sum(total);
}

// Note, for some rows, which of the next `width` rows may be among the nearest: one block of 512 threads
// a row, at most 16 products a thread. Products: (rows, width) of rounded points. A candidate's rounded
// distance is at most the limit, the n_wanted-th least of the threads' least ones so far: no row nearer
// than the final limit is missed. Least: (rows, 512). Candidates and rounded: (rows, 1024).
extern "C" __global__ void note_candidates(const float* products, const float* lengths, i64 first,
                                           i64 width, i64 n_wanted, float* least, int* candidates,
                                           float* rounded, int* counts, float* limits) {
  __shared__ float sorted[512];
  __shared__ int n_found;
  i64 row = blockIdx.x;
  const float* product = products + row * width;
  float own[16], low = first ? least[row * 512 + threadIdx.x] : NO_FLOAT;
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    i64 j = threadIdx.x + 512 * u;
    own[u] = j < width ? lengths[first + j] - 2 * product[j] : NO_FLOAT;
    low = fminf(low, own[u]);
  }
  least[row * 512 + threadIdx.x] = low;
  sorted[threadIdx.x] = low;
  if (threadIdx.x == 0) n_found = first ? counts[row] : 0;
  for (int size = 2; size <= 512; size <<= 1)
    for (int step = size >> 1; step > 0; step >>= 1) {
      __syncthreads();
      if (threadIdx.x < 256) {
        int a = 2 * threadIdx.x - (threadIdx.x & (step - 1)), b = a + step;
        float x = sorted[a], y = sorted[b];
        if ((x > y) == ((a & size) == 0)) { sorted[a] = y; sorted[b] = x; }
      }
    }
  __syncthreads();
  float limit = sorted[n_wanted - 1];
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    i64 j = threadIdx.x + 512 * u;
    if (j < width && own[u] <= limit) {
      int place = atomicAdd(&n_found, 1);
      if (place < N_CANDIDATES) {
        candidates[row * N_CANDIDATES + place] = (int)(first + j);
        rounded[row * N_CANDIDATES + place] = own[u];
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) { counts[row] = n_found; limits[row] = limit; }
}

// The nearest of the noted candidates, ranked by distances computed anew; one block a row. Settled:
// whether no other row can be as near, by what rounding may have done. Shared memory: n_columns doubles.
extern "C" __global__ void rank_nearest(POINTS, const int* noted, const float* rounded,
                                        const int* counts, const float* limits,
                                        const float* lengths, const int* rows, i64 n_neighbors,
                                        double largest_length, double largest_error,
                                        double relative_error, const float* errors, int* found,
                                        u8* settled) {
  extern __shared__ double own[];
  __shared__ int candidates[N_CANDIDATES];
  __shared__ double distances[N_CANDIDATES];
  __shared__ int n_found;
  __shared__ double last;
  Points points = THE_POINTS;
  int row = rows[blockIdx.x], n_noted = counts[blockIdx.x];
  float limit = limits[blockIdx.x];
  for (i64 j = threadIdx.x; j < n_columns; j += blockDim.x) own[j] = points.at(row, j);
  if (threadIdx.x == 0) { n_found = 0; last = INF; }
  __syncthreads();
  for (int i = threadIdx.x; i < min(n_noted, N_CANDIDATES); i += blockDim.x)
    if (rounded[(i64)blockIdx.x * N_CANDIDATES + i] <= limit)
      candidates[atomicAdd(&n_found, 1)] = noted[(i64)blockIdx.x * N_CANDIDATES + i];
  __syncthreads();
  int n = n_found;
  for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5) {
    double distance = to_ten_digits(squared_distance(points, own, candidates[i]));
    if ((threadIdx.x & 31) == 0) distances[i] = candidates[i] == row ? INF : distance;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    double distance = distances[i];
    int rank = 0, mine = candidates[i];
    for (int other = 0; other < n; ++other)
      rank += distances[other] < distance ||
              (distances[other] == distance && candidates[other] < mine);
    if (rank < n_neighbors) found[blockIdx.x * n_neighbors + rank] = mine;
    if (rank == n_neighbors - 1) last = distance;
  }
  __syncthreads();
  if (threadIdx.x) return;
  double length = lengths[row];
  double error = relative_error * largest_length;  // of a rounded squared distance
  double border = (double)limit + length - error;
  double gap = sqrt(max(border, 0.0)) - (double)errors[row] - largest_error;
  bool all = limit == NO_FLOAT;
  bool sure = all || (gap > 0 && last < gap * gap * (1 - 1e-9));
  settled[blockIdx.x] = n_noted <= N_CANDIDATES && last < INF && sure;
}

// Distances to ten digits between some rows and all rows; infinite to the row itself. Blocks: (parts of
// all rows, rows). Shared memory: n_columns doubles.
extern "C" __global__ void all_distances(POINTS, i64 n_rows, const int* rows, double* distances) {
  extern __shared__ double own[];
  Points points = THE_POINTS;
  int row = rows[blockIdx.y];
  for (i64 j = threadIdx.x; j < n_columns; j += blockDim.x) own[j] = points.at(row, j);
  __syncthreads();
  i64 n_warps = (i64)gridDim.x * (blockDim.x >> 5);
  for (i64 j = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); j < n_rows; j += n_warps) {
    double distance = to_ten_digits(squared_distance(points, own, j));
    if ((threadIdx.x & 31) == 0) distances[blockIdx.y * n_rows + j] = j == row ? INF : distance;
  }
}
