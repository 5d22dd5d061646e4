package analysis

// Bounds of a heatmap.
const (
	// HeatmapBlocks is how many blocks of hosts a heatmap has at most on either axis.
	HeatmapBlocks = 64
	// HeatmapSamples is the number of samples below which a cell is empty.
	HeatmapSamples = 20
)

// Heatmap says what the CSIG samples of the traffic between blocks of hosts were, and
// which port they named. It is of one variant and signal, over all seeds and the measuring
// window. The cell of source block i and destination block k is at [i][k].
type Heatmap struct {
	Variant string `json:"variant"`
	Signal  string `json:"signal"` // such as abw-c
	Seeds   int    `json:"seeds"`
	// Unit is that of Mean and of Threshold: Gb/s of abw, % of abw-c and nqd, µs of delay.
	Unit   string  `json:"unit"`
	Blocks []Block `json:"blocks"`
	// By is what a block is: "tor" the hosts below one ToR, "tors" those below several ToRs
	// that follow each other, or "hosts" hosts that follow each other, in fabrics whose hosts
	// are below no ToR.
	By string `json:"by"`
	// Samples are counts. Mean is the mean of the samples; null where there are less than
	// HeatmapSamples.
	Samples [][]int64 `json:"samples"`
	Mean    []Values  `json:"mean"`
	// Heavy counts the samples of heavily loaded ports: those of telemetry windows whose mean
	// is on the side of Threshold that Below says. Rule says in words where the threshold
	// comes from: see HeavyRule.
	Heavy     [][]int64 `json:"heavy"`
	Threshold float64   `json:"threshold"`
	Below     bool      `json:"below"`
	Rule      HeavyRule `json:"rule"`
	// Modal has, by cell, the index in Locators of the locator that most samples of Heavy
	// name, of equals the lower locator; -1 where Heavy is less than HeatmapSamples. Share is
	// the share of Heavy that names it, null there.
	Modal    [][]int       `json:"modal"`
	Share    []Values      `json:"share"`
	Locators []HeatLocator `json:"locators"` // ascending: those of Modal
}

// Block is hosts that follow each other.
type Block struct {
	Name  string `json:"name"` // of its ToR, or of the first and the last ToR, or host
	Hosts int    `json:"hosts"`
}

// HeatLocator is a locator and the ports it stands for: one, or several that share it. A
// sample does not say which of these wrote it.
type HeatLocator struct {
	Locator   int32    `json:"locator"`
	Ports     []string `json:"ports"`
	Tier      string   `json:"tier"`      // that all of them have; "" if they differ
	Direction string   `json:"direction"` // likewise
	Cells     int      `json:"cells"`     // of which it is the modal one
}

// HeavyRule says when samples count as those of heavily loaded ports.
type HeavyRule string

// Rules.
const (
	// HeavyRatio: at most a quarter of the port's rate is available. Of signal abw the rate
	// is that of the port that the locator names.
	HeavyRatio HeavyRule = "a quarter of the rate"
	// HeavyTarget: the delay is above the queueing delay that the variant's congestion
	// control aims at.
	HeavyTarget HeavyRule = "target"
	// HeavyPackets: the delay is above the time in which the port sends 2.5 full packets,
	// which is the mean time that packets stay in a queue of random arrivals (M/D/1) whose
	// line is used to three quarters.
	HeavyPackets HeavyRule = "two and a half packets"
	// HeavyQueue: the queue is a quarter full, on the scale of the signal.
	HeavyQueue HeavyRule = "a quarter of the queue"
)
