package analysis

// Utilisation says how a variant used its ports, seen in telemetry windows and seen at
// the scale of switch telemetry, once in a second. It is of the seed that charts show, and
// of the measuring window.
type Utilisation struct {
	Variant string  `json:"variant"`
	Seed    uint64  `json:"seed"`
	FromUS  float64 `json:"fromUs"`
	ToUS    float64 `json:"toUs"`
	FineUS  float64 `json:"fineUs"` // length of a telemetry window
	// CoarseUS is the length of a coarse bin: a second where the run is measured for two
	// seconds or longer. Otherwise it is the whole of that time, and RunMean is set:
	// telemetry that reports once in a second shows no more than the mean over the run.
	CoarseUS float64 `json:"coarseUs"`
	RunMean  bool    `json:"runMean,omitempty"`
	// Ports are the most telling port of the first variant, if this variant has it, and the
	// most telling port of this variant if it is another one. The most telling port is, of
	// the switch ports whose busiest window is within a point of the greatest, the one with
	// the most bytes in its queue on average, of equals the one that sent most. Without
	// traffic at switches it is a NIC.
	Ports []PortUtilisation `json:"ports"`
	Tiers []TierUtilisation `json:"tiers"` // from the hosts up, then down again; those without a port are left out
}

// PortUtilisation is how one port was used. Values are shares of the time in which the
// line was busy, line overhead included, from 0 to 1.
type PortUtilisation struct {
	Place
	WindowShares
	// Coarse has the values of bins of CoarseUS from FromUS on, of whole bins only.
	Coarse Values `json:"coarse"`
	// Mean, Low and High have one value for every BinUS, a whole number of windows, from
	// FromUS on: the mean of the windows in it, the least and the greatest. Low and High are
	// nil where BinUS is one window. A window without a record is 0.
	BinUS float64 `json:"binUs"`
	Mean  Values  `json:"mean"`
	Low   Values  `json:"low,omitempty"`
	High  Values  `json:"high,omitempty"`
	// Close has every window of an excerpt, from CloseFromUS on, in which the busiest window
	// is; nil where BinUS is one window.
	CloseFromUS float64 `json:"closeFromUs,omitempty"`
	Close       Values  `json:"close,omitempty"`
}

// TierUtilisation is how the ports of a tier and direction were used.
type TierUtilisation struct {
	Tier      string `json:"tier"`      // as runfolder.Port.Tier
	Direction string `json:"direction"` // as runfolder.Port.Direction
	Ports     int    `json:"ports"`
	WindowShares
}

// WindowShares are the utilisations of telemetry windows, from 0 to 1: of all windows of
// the measuring window, at all ports that they are about. A window without a record is 0.
type WindowShares struct {
	MeanShare float64 `json:"meanShare"`
	P99       float64 `json:"p99"` // exact to 0.005
	Peak      float64 `json:"peak"`
	// FullShare is the share of windows that are used to FullWindow or more.
	FullShare float64 `json:"fullShare"`
}

// FullWindow is the utilisation from which a window counts as one at line rate.
const FullWindow = 0.95
