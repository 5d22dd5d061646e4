// Package meaning says of each metric of a run, by its name, in which unit it is and in
// which direction it improves. docs/metrics.md describes the metrics; orchestrator/measure
// computes them, and its tests fail when one of them has no meaning here.
package meaning

import "strings"

// Better is the direction in which a metric improves.
type Better int

// Directions. Many counts are neither good nor bad.
const (
	Neutral Better = iota
	Lower
	Higher
)

// Meaning of a metric.
type Meaning struct {
	Unit   string // for people, such as µs, Gb/s, packets; empty: a bare number
	Better Better
	Share  bool // between 0 and 1
	// Machine: it is about the machine that runs, not about the model, and differs from run to
	// run of the same seed.
	Machine bool
}

// Of returns the meaning of a metric by its name, QUANTITY[.STATISTIC][.SUBJECT]. A name that
// csiglab does not give to a metric, such as that of a derived metric, has the unit that the
// end of its quantity says, and no direction.
func Of(metric string) Meaning {
	m, _ := Known(metric)
	return m
}

// Known is Of, and reports whether it is a metric of csiglab.
func Known(metric string) (m Meaning, known bool) {
	quantity, rest, _ := strings.Cut(metric, ".")
	kind, _, _ := strings.Cut(rest, ".")
	m, known = quantities[quantity+"."+kind]
	if !known {
		m, known = quantities[quantity]
	}
	if m.Unit == "" {
		m.Unit = unitOf(quantity)
	}
	return m, known
}

// suffixes are the units that the end of a quantity's name says.
var suffixes = []struct{ suffix, unit string }{
	{"_us", "µs"}, {"_ns", "ns"}, {"_ms", "ms"}, {"_seconds", "s"}, {"_gbps", "Gb/s"}, {"_kb", "kB"}, {"_bytes", "B"}, {"_ppm", "ppm"}, {"_percent", "%"},
	{"packets", "packets"}, {"postcards", "packets"}, {"weights", "packets"}, {"trims", "packets"}, {"drops", "packets"}, {"marks", "packets"}, {"flows", "flows"},
}

func unitOf(quantity string) string {
	for _, s := range suffixes {
		if strings.HasSuffix(quantity, s.suffix) {
			return s.unit
		}
	}
	return ""
}

// quantities is the table of the metrics of runs by the first part of their names, or the
// first two where these differ. A unit that the name says is not repeated.
var quantities = map[string]Meaning{
	// Transfers.
	"fct_us":           {Better: Lower},
	"fct_rx_us":        {Better: Lower},
	"rpc_us":           {Better: Lower},
	"slowdown":         {Better: Lower},
	"flows.incomplete": {Better: Lower},
	"flows.gave_up":    {Better: Lower},
	"rate_gbps":        {Better: Higher},
	"goodput_gbps":     {Better: Higher},
	"jain":             {Better: Higher, Share: true},
	"retransmit_share": {Better: Lower, Share: true},
	"base_rtt_us":      {},
	"rtt_us":           {Better: Lower},
	"cwnd_kb":          {},

	// Packets. What is sent as a matter of course, or to signal, is neither good nor bad.
	"packets.new":             {},
	"packets.retransmitted":   {Better: Lower},
	"packets.timeouts":        {Better: Lower},
	"packets.probes":          {},
	"packets.acks":            {},
	"packets.nacks":           {Better: Lower},
	"packets.returned":        {},
	"packets.out_of_sequence": {Better: Lower},
	"packets.credits":         {},
	"postcards":               {},
	"postcards.received":      {},
	"weights.set":             {},
	"packets.credit_requests": {},
	"packets.cnps":            {},
	"data_packets":            {},
	"trims":                   {Better: Lower},
	"drops":                   {Better: Lower},
	"fault_drops":             {Better: Lower},
	"marks":                   {},
	"programs":                {Unit: "packets"},

	// Congestion control and its signals.
	"cc_delay_us":         {Better: Lower},
	"cc_share":            {Share: true},
	"target_qdelay_us":    {},
	"base_target_us":      {},
	"line_rate_target_us": {},
	"samples":             {Unit: "samples"},
	"samples_fresh":       {Unit: "samples"},
	"samples_untouched":   {Unit: "tags"},
	"samples_per_ack":     {Unit: "samples"},
	"csig_abw_gbps":       {},
	"csig_abwc":           {},
	"csig_delay_us":       {},
	"csig_nqd":            {},
	"abw_gbps":            {},
	"bottleneck_share":    {Share: true},
	"csig_error_percent":  {Better: Lower},
	"truth_samples":       {Unit: "samples"},
	"truth_missed":        {Better: Lower, Share: true},
	"truth_outside":       {Better: Lower, Share: true},
	"tags":                {Unit: "tags"},

	// Ports and classes of data. A busy port is good or bad by what it is busy with.
	"queue_kb":       {Better: Lower},
	"hop_delay_us":   {Better: Lower},
	"utilisation":    {Share: true},
	"class_queue_kb": {Better: Lower},
	"class_wait_us":  {Better: Lower},
	"class_bytes":    {},
	"class_marks":    {},
	"class_trims":    {Better: Lower},
	"class_drops":    {Better: Lower},
	"pauses":         {Unit: "frames", Better: Lower},
	"paused_us":      {Better: Lower},
	"headroom_kb":    {Better: Lower},
	"buffer_kb":      {Better: Lower},

	// Jobs.
	"iteration_us":         {Better: Lower},
	"iteration_settled_us": {Better: Lower},
	"compute_us":           {},
	"bubble_us":            {Better: Lower},
	"exposed_us":           {Better: Lower},
	"skew_wait_us":         {Better: Lower},
	"held_us":              {},
	"idle_us":              {},
	"compute_share":        {Share: true},
	"bubble_share":         {Better: Lower, Share: true},
	"exposed_share":        {Better: Lower, Share: true},
	"skew_wait_share":      {Better: Lower, Share: true},
	"held_share":           {Share: true},
	"idle_share":           {Share: true},
	"straggler_ratio":      {Better: Lower},
	"straggler_rank":       {Unit: "rank"},
	"steps_done":           {Unit: "steps", Better: Higher},
	"message_us":           {Better: Lower},
	"cct_us":               {Better: Lower},
	"skew_us":              {Better: Lower},
	"algbw_gbps":           {Better: Higher},
	"busbw_gbps":           {Better: Higher},
	"overlap_share":        {Better: Lower, Share: true},
	"apart_iteration":      {Unit: "iteration", Better: Lower},
	// What the plan predicts is neither.
	"iteration_alone_us": {},
	"iteration_fluid_us": {},
	// What a schedule holds back is good or bad by what the phases gain.
	"schedule_hold_us": {},
	"schedule_late_us": {Better: Lower},

	// The run itself.
	"model_ms":    {},
	"cpu_seconds": {Better: Lower, Machine: true},
}

// UnitOf returns the unit that the end of a metric's quantity says; "" for none.
func UnitOf(metric string) string {
	quantity, _, _ := strings.Cut(metric, ".")
	return unitOf(quantity)
}
