package analysis

// Bounds of a signature.
const (
	// SignatureRows is how many rows a signature has at most, and SignatureBins how many
	// bins of time.
	SignatureRows = 64
	SignatureBins = 400
	// SignatureSpans is how many collectives and phases it names at most.
	SignatureSpans = 16
)

// Signature is how the ports of a variant were used in the course of a step of a job: all
// measured steps laid over each other by the time since each began, without stretching
// any. Without jobs it is the run itself. It is of the seed that charts show.
type Signature struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	Job     string `json:"job,omitempty"` // "": the run
	// Steps is how many steps are laid over each other, 1 for the run. StepUS has their
	// lengths: bins after the shortest are means over fewer steps, and Folded says over how
	// many, by bin.
	Steps  int    `json:"steps"`
	StepUS Spread `json:"stepUs"`
	Folded []int  `json:"folded"`
	// BinUS is the length of a bin, a whole number of telemetry windows. Time is counted
	// from the beginning of the step; of the run it is FromUS in model time.
	BinUS  float64        `json:"binUs"`
	FromUS float64        `json:"fromUs"`
	Bins   int            `json:"bins"`
	Rows   []SignatureRow `json:"rows"` // from the hosts up, then down again
	// AllPorts says that every port that sent has a row of its own. Otherwise the busiest of
	// each tier and direction have one, and a row stands for the others of them.
	AllPorts bool `json:"allPorts"`
	// Utilisation has a row for each of Rows with a value for each bin: the share of the time
	// in which the line was busy, mean over the steps and over the ports of the row.
	// Available has the least available bandwidth as a share of the port's rate over the
	// steps, windows and ports.
	Utilisation []Percents `json:"utilisation"`
	Available   []Percents `json:"available"`
	// Measured says that the available bandwidth is what the ports' CSIG meters had.
	// Otherwise it is what windows left of the line.
	Measured bool            `json:"measured"`
	Spans    []SignatureSpan `json:"spans"`             // collectives and phases of the job, by their begin
	LeftOut  int             `json:"leftOut,omitempty"` // collectives and phases that Spans lacks: the shortest
}

// SignatureRow is a port, or those of a tier and direction that have no row of their own.
type SignatureRow struct {
	Name      string `json:"name"` // of the port; "" for several
	Tier      string `json:"tier"`
	Direction string `json:"direction"`
	Ports     int    `json:"ports"`
	Place     *Place `json:"place,omitempty"` // nil for several
}

// SignatureSpan is when a collective or a phase is under way in a step.
type SignatureSpan struct {
	Name      string  `json:"name"`
	Phase     bool    `json:"phase,omitempty"`
	Ranks     int     `json:"ranks"`     // that take part in a step, over all groups
	Instances float64 `json:"instances"` // in a step, mean; of phases by rank
	// BeginUS is when the first instance of a step begins and EndUS when the last one ends,
	// since the beginning of the step: means over the steps.
	BeginUS float64 `json:"beginUs"`
	EndUS   float64 `json:"endUs"`
	// Active has a value for each bin: the share of it in which an instance was under way,
	// mean over the steps.
	Active Percents `json:"active"`
}

// Percents are shares in per cent, rounded. NoPercent stands for none.
type Percents []int8

// NoPercent is the value of Percents where there is none.
const NoPercent = -1
