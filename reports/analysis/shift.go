package analysis

// Shift says where the bottleneck was on two sides: in the first variant and in another
// one, or before and after the first fault of a variant's runs.
type Shift struct {
	Fault  string       `json:"fault,omitempty"` // in words; "": the sides are variants
	Before ShiftSide    `json:"before"`
	After  ShiftSide    `json:"after"`
	Basis  ShiftBasis   `json:"basis"`
	Signal string       `json:"signal,omitempty"` // of BasisSamples
	Places []ShiftPlace `json:"places"`           // those with the greatest share on either side first; at most MaxShiftPlaces
	Tiers  []ShiftTier  `json:"tiers"`            // the same by tier and direction; the greatest share on either side first
	// From and To are the indexes in Places of the most prevalent place of each side, -1
	// where a side has none. Moved says that they differ.
	From  int  `json:"from"`
	To    int  `json:"to"`
	Moved bool `json:"moved"`
	// Agree is how many of Seeds pairs of runs with the same seed say the same as Moved, and,
	// if the place has moved, from the same tier and direction to the same one.
	Agree int `json:"agree"`
	Seeds int `json:"seeds"`
}

// ShiftSide is one side of a shift.
type ShiftSide struct {
	Variant string  `json:"variant"`
	FromUS  float64 `json:"fromUs"`
	ToUS    float64 `json:"toUs"` // 0: the end of the run
	// Heavy is how many samples, or windows of ports, of all seeds were heavily loaded, of All.
	Heavy int64 `json:"heavy"`
	All   int64 `json:"all"`
}

// ShiftBasis is what shares of a shift are shares of.
type ShiftBasis string

// Bases.
const (
	// BasisSamples: of the CSIG samples of heavily loaded ports, as Heatmap.Heavy counts
	// them, by the port that they name.
	BasisSamples ShiftBasis = "samples"
	// BasisWindows: of the telemetry windows in which a port had at most a quarter of its
	// line left, by port. Runs without CSIG have it too.
	BasisWindows ShiftBasis = "windows"
)

// MaxShiftPlaces bounds Shift.Places.
const MaxShiftPlaces = 8

// ShiftPlace is a place that was a bottleneck.
type ShiftPlace struct {
	Ports     []string   `json:"ports"` // one, or several that share a locator
	Tier      string     `json:"tier"`
	Direction string     `json:"direction"`
	Before    ShiftShare `json:"before"`
	After     ShiftShare `json:"after"`
}

// ShiftTier is the ports of a tier and direction.
type ShiftTier struct {
	Tier      string     `json:"tier"`
	Direction string     `json:"direction"`
	Before    ShiftShare `json:"before"`
	After     ShiftShare `json:"after"`
}

// ShiftShare is a share of all that was heavily loaded on one side: over all seeds, and the
// range of the seeds.
type ShiftShare struct {
	Share float64 `json:"share"`
	Seeds Spread  `json:"seeds"`
}
