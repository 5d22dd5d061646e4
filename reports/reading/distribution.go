package reading

import (
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Bounds of what is listed of many flows, ports and instances.
const (
	// ManyFlows is the number of transfers above which the worst of them are listed.
	ManyFlows = 32
	// MaxWorst is how many flows, ports or instances of a variant are listed, and
	// MaxWorstVariants of how many variants.
	MaxWorst         = 10
	MaxWorstVariants = 8
)

// Distribution has the quantiles of a quantity: of each seed, and of these the medians over
// the seeds. P99 is the least value that 99 % of the values do not exceed.
type Distribution struct {
	Count float64 `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// DistributionOf returns the distribution of the values of the seeds, ascending each; nil if
// no seed has any. Seeds without values do not count.
func DistributionOf(seeds [][]float64) *Distribution {
	var of [7][]float64
	for _, sorted := range seeds {
		n := len(sorted)
		if n == 0 {
			continue
		}
		sum := 0.0
		for _, v := range sorted {
			sum += v
		}
		at := func(share float64) float64 {
			return sorted[min(n-1, max(0, int(math.Ceil(share*float64(n)-1e-9))-1))]
		}
		for i, v := range []float64{float64(n), sum / float64(n), at(0.5), at(0.9), at(0.99), at(0.999), sorted[n-1]} {
			of[i] = append(of[i], v)
		}
	}
	if of[0] == nil {
		return nil
	}
	median := func(i int) float64 { return runfolder.Median(of[i]) }
	return &Distribution{median(0), median(1), median(2), median(3), median(4), median(5), median(6)}
}
