package analysis

// Fairness says how evenly flows share bottlenecks in one variant, and how completion
// times are distributed.
type Fairness struct {
	Variant string `json:"variant"`
	// Shared has the full ports that at least two flows must cross, the one with the most
	// flows first, at most MaxShared. Without such a port it has one entry of all transfers,
	// without Place, if their rates compare.
	Shared   []SharedPort  `json:"shared"`
	FCTUS    *Distribution `json:"fctUs,omitempty"`    // of transfers that completed; nil without
	Slowdown *Distribution `json:"slowdown,omitempty"` // likewise; nil too if it is not known of all
	CCTUS    []CCT         `json:"cctUs"`              // of each collective of each job
	Worst    []WorstCCT    `json:"worst"`              // instances of collectives of all seeds that took the longest for their kind, at most MaxWorst
}

// MaxShared bounds Fairness.Shared.
const MaxShared = 8

// SharedPort is a port that several flows share.
type SharedPort struct {
	Place *Place `json:"place,omitempty"` // nil: all transfers of the variant
	Flows int    `json:"flows"`
	// Jain is Jain's index of the flows' rates, median over the seeds: 1 if all are equal,
	// 1/Flows if one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984). JainSeeds is its
	// range over the seeds.
	Jain      float64 `json:"jain"`
	JainSeeds Spread  `json:"jainSeeds"`
	// The rates of the slowest and of the fastest flow, medians over the seeds.
	LeastGbps float64 `json:"leastGbps"`
	MostGbps  float64 `json:"mostGbps"`
	Slowest   string  `json:"slowest"` // the flow whose median rate is the least
}

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

// CCT is the distribution of the completion times of one collective of a job, over
// its steps and groups.
type CCT struct {
	Job        string `json:"job"`
	Collective string `json:"collective"`
	Distribution
}

// WorstCCT is an instance of a collective that took long: Ratio times the median of the
// instances of its name in its run.
type WorstCCT struct {
	Seed       uint64  `json:"seed"`
	Job        string  `json:"job"`
	Step       int32   `json:"step"`
	Collective string  `json:"collective"`
	Group      int32   `json:"group"`
	CCTUS      float64 `json:"cctUs"`
	Ratio      float64 `json:"ratio"`
	LastHost   string  `json:"lastHost"` // the host that left it last
}
