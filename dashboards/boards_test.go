package dashboards

// Reasons why a panel is empty.
const (
	NoJob       Reason = "Empty for a run without training jobs."
	NoSignals   Reason = "Empty for a run whose hosts ask for no CSIG signal."
	NoABW       Reason = "Empty for a run without CSIG that measures available bandwidth."
	NoBandwidth Reason = "Empty unless hosts ask for the CSIG signal abw."
	NoQueue     Reason = "Empty unless hosts ask for the CSIG signal nqd."
	NoRatio     Reason = "Empty unless hosts ask for the CSIG signal abw-c."
	NoDelay     Reason = "Empty unless hosts ask for the CSIG signal delay."
	NoLab       Reason = "Empty for a lab: csiglab knows this when a run has ended."
	NoVirtual   Reason = "Empty for runs in virtual time and in lockstep, which no wall clock can delay."
	NoTransfer  Reason = "Empty for a run without transfers, such as one with training jobs alone."
	NoWindow    Reason = "Empty for congestion control without a window."
	NoActions   Reason = "Empty for congestion control that names no actions."
)

// Boards returns the dashboards.
func Boards() []Board {
	return []Board{fabric(), training(), flows(), paths(), fidelity(), compare()}
}

const axis = "**Time.** A lab is shown in wall time. A run folder is loaded with its time stretched: with a stretch of 1000, one second on the axis is one millisecond of the model, and a telemetry window of 100 us is 100 ms wide. Rates and times in the panels are the model's."

func text(height int, content string) Panel {
	return Panel{Kind: Text, Title: "How to read this", Height: height, Text: content}
}

func row(title string) Panel { return Panel{Kind: Row, Title: title} }

var (
	valid     = []Mapping{{"0", "not valid", "red"}, {"1", "valid", "green"}}
	noneIsOK  = []Step{{0, "green"}, {1, "red"}}
	signature = []Panel{
		{Kind: Signature, Title: "Ports by utilisation", Height: 12, Unit: "percentunit", Max: 1,
			Description: "The 40 busiest ports, one in each row, and the share of each telemetry window in which the line was busy. Dark is busy. Ports that turn dark together show a collective.",
			Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(40, "csig_port_utilisation_ratio{}"))}},
		{Kind: Signature, Title: "Ports by available bandwidth", Height: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoABW},
			Description: "The least bandwidth that each port's CSIG meter measured in a window, as a share of the line's rate. Light is congested. Only ports of switches have a meter.",
			Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "csig_port_available_bytes_per_second{} / csig_port_rate_bytes_per_second{} and topk(40, avg_over_time(csig_port_utilisation_ratio{}[$__range] @ end()))")}},
	}
)

func fabric() Board {
	return Board{
		UID: "csiglab-fabric", Title: "csiglab: fabric overview", Description: "Which ports of the fabric are busy, how deep their queues are and what they drop.", Counts: true,
		Panels: []Panel{
			text(3, axis+" Bursts are shorter than any scrape interval: panels about *windows* count every telemetry window, so that no burst is lost between two scrapes."),
			{Kind: Stat, Title: "Verdict", Width: 4, Height: 4, Values: valid, Empty: []Reason{NoLab}, Steps: []Step{{0, "text"}},
				Description: "Whether csiglab found the run valid.",
				Queries:     []Query{query("", "min(%s)", total("csig_run_valid"))}},
			{Kind: Stat, Title: "Lost records", Width: 4, Height: 4, Steps: noneIsOK,
				Description: "Records that found no room in a bounded buffer. The other panels lack what they said.",
				Queries:     []Query{query("", "sum(%s)", total("csig_run_dropped_records_total"))}},
			{Kind: Stat, Title: "Mean utilisation", Width: 4, Height: 4, Unit: "percentunit", Decimals: 1,
				Description: "Share of the time in which the ports of switches were busy, over all of them.",
				Queries:     []Query{query("{{variant}}", "%s", mean("variant", "csig_port_window_utilisation_ratio", `tier!="host"`))}},
			{Kind: Stat, Title: "Windows at line rate", Width: 4, Height: 4, Unit: "percentunit", Decimals: 1,
				Description: "Share of the telemetry windows in which a port of a switch was busy for more than 95 % of the time.",
				Queries: []Query{query("{{variant}}", "1 - sum by (variant) (%s) / sum by (variant) (%s)",
					total("csig_port_window_utilisation_ratio_bucket", `tier!="host"`, `le="0.95"`), total("csig_port_window_utilisation_ratio_count", `tier!="host"`))}},
			{Kind: Stat, Title: "Deepest queue", Width: 4, Height: 4, Unit: "bytes",
				Description: "Greatest depth of a data queue that was seen. In a lab, what lies between two scrapes is not seen here; the queues of all windows are below.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (max_over_time(csig_port_queue_peak_bytes{}[$__range]))")}},
			{Kind: Stat, Title: "Dropped packets", Width: 4, Height: 4, Steps: []Step{{0, "green"}, {1, "orange"}},
				Description: "Packets that ports dropped since the run began.",
				Queries:     []Query{query("{{variant}}", "sum by (variant) (%s)", total("csig_port_dropped_packets_total"))}},
			ran(24),
			row("Utilisation"),
			{Kind: Timeseries, Title: "Mean utilisation of each tier", Width: 12, Unit: "percentunit", Max: 1,
				Description: "Share of the latest telemetry window in which the lines of a tier were busy, in each direction, on average over its ports.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{direction}}", "avg by (variant, tier, direction) (csig_port_utilisation_ratio{})")}},
			{Kind: Timeseries, Title: "Busiest port of each tier", Width: 12, Unit: "percentunit", Max: 1,
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy. A mean hides bursts; this does not.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{direction}}", "max by (variant, tier, direction) (csig_port_utilisation_ratio{})")}},
			{Kind: Heatmap, Title: "Telemetry windows by utilisation", Width: 12, Unit: "percentunit",
				Description: "How many windows of ports had which utilisation. Two dark bands, one at the bottom and one at the top, are bursts: ports are idle or at line rate, whatever their mean.",
				Queries:     []Query{query("{{le}}", `sum by (le) (increase(csig_port_window_utilisation_ratio_bucket{tier!="host"}[$__rate_interval]))`)}},
			{Kind: BarGauge, Title: "Busiest ports", Width: 12, Unit: "percentunit", Max: 1,
				Description: "The ten ports with the greatest mean utilisation since the run began.",
				Queries:     []Query{query("{{variant}} {{port}}", "topk(10, %s)", mean("variant, node, port", "csig_port_window_utilisation_ratio"))}},
			row("Queues and losses"),
			{Kind: Timeseries, Title: "Deepest queue of each tier", Width: 12, Unit: "bytes",
				Description: "Greatest depth of a data queue in the latest telemetry window.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{direction}}", "max by (variant, tier, direction) (csig_port_queue_peak_bytes{})")}},
			{Kind: Heatmap, Title: "Telemetry windows by queue", Width: 12, Unit: "bytes",
				Description: "How many windows of ports had which greatest depth of the data queue.",
				Queries:     []Query{query("{{le}}", `sum by (le) (increase(csig_port_window_queue_bytes_bucket{tier!="host"}[$__rate_interval]))`)}},
			{Kind: Timeseries, Title: "Marked, trimmed and dropped packets", Width: 12, Unit: "pps",
				Description: "Packets per second that ports marked CE, trimmed to their headers, or dropped.",
				Queries: []Query{
					rates("{{variant}} marked", "variant", "csig_port_marked_packets_total{}", ""),
					rates("{{variant}} trimmed", "variant", "csig_port_trimmed_packets_total{}", ""),
					rates("{{variant}} dropped", "variant", "csig_port_dropped_packets_total{}", ""),
				}},
			{Kind: Timeseries, Title: "Least available bandwidth of each tier", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoABW},
				Description: "Least bandwidth that a CSIG meter of the tier measured in the latest window, as a share of the line's rate: what CSIG packets are told.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{direction}}", "min by (variant, tier, direction) (csig_port_available_bytes_per_second{} / csig_port_rate_bytes_per_second{})")}},
			{Kind: Table, Title: "Ports", Height: 10, Description: "What each port did since the run began.",
				Columns: []Column{{"variant", "variant", ""}, {"port", "port", ""}, {"tier", "tier", ""}, {"direction", "direction", ""},
					{"Value #A", "sent", "bytes"}, {"Value #B", "mean utilisation", "percentunit"}, {"Value #C", "marked", "short"}, {"Value #D", "trimmed", "short"}, {"Value #E", "dropped", "short"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", byPort, total("csig_port_transmit_bytes_total")),
					query("", "%s", mean(byPort, "csig_port_window_utilisation_ratio")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_marked_packets_total")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_trimmed_packets_total")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_dropped_packets_total")),
				}},
		},
	}
}

const byPort = "variant, node, port, tier, direction"

// ran is the table of what was run.
func ran(width int) Panel {
	return Panel{Kind: Table, Title: "What ran", Width: width, Height: 5, Description: "The run, and the algorithms of each variant.",
		Columns: []Column{{"run", "run", ""}, {"experiment", "experiment", ""}, {"variant", "variant", ""}, {"seed", "seed", ""}, {"runtime", "runtime", ""}, {"clock", "clock", ""},
			{"cc", "congestion control", ""}, {"lb", "load balancing", ""}, {"aqm", "AQM", ""}, {"csig", "CSIG", ""}, {"stretch", "time stretch", ""}},
		Queries: []Query{query("", "max by (run, experiment, variant, seed, runtime, clock, cc, lb, aqm, csig, stretch) (%s)", total("csig_run_info"))}}
}

func training() Board {
	return Board{
		UID: "csiglab-training", Title: "csiglab: training-step signature", Description: "When the collectives of a training step use which ports of the fabric.",
		Panels: append([]Panel{
			text(3, axis+" Compare the collectives at the top with the ports below them: the same pattern in each step is the signature of the job."),
			{Kind: StateTimeline, Title: "Steps", Height: 5, Empty: []Reason{NoJob},
				Description: "The highest step of each job of which an operation is complete.",
				Queries:     []Query{windows("{{variant}} {{job}}", "max by (variant, job) (csig_job_step{})")}},
			{Kind: Timeseries, Title: "Ranks in collectives", Stack: true, Empty: []Reason{NoJob, NoLab},
				Description: "How many ranks are in each collective, one above the other. All ranks that enter together make a burst; a slope shows that ranks are late.",
				Queries:     []Query{windows("{{variant}} {{collective}}", "sum by (variant, collective) (csig_collective_active_ranks{})")}},
		}, append(signature[:len(signature):len(signature)],
			Panel{Kind: Timeseries, Title: "Deepest queues", Width: 12, Unit: "bytes",
				Description: "Greatest depth of the data queue in each telemetry window, of the eight ports whose queues are deepest on average.",
				Queries:     []Query{windows("{{variant}} {{port}}", "%s", most(8, "csig_port_queue_peak_bytes{}"))}},
			Panel{Kind: Timeseries, Title: "Received", Width: 12, Unit: "Bps",
				Description: "Payload that receivers got in the latest telemetry window, by job or group of traffic.",
				Queries:     []Query{windows("{{variant}} {{job}}", "sum by (variant, job) (csig_flow_receive_bytes_per_second{})")}},
			Panel{Kind: BarGauge, Title: "Mean time of a step", Width: 8, Unit: "s", Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job since the run began, in the model's time. In a lab each rank counts by itself.",
				Queries:     []Query{query("{{variant}} {{job}}", "%s", mean("variant, job", "csig_job_iteration_seconds"))}},
			Panel{Kind: Table, Title: "Collectives", Width: 16, Empty: []Reason{NoJob},
				Description: "How often each collective ran since the run began, its mean duration, and an estimate of the duration that 95 of 100 stayed below, in the model's time.",
				Columns: []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"collective", "collective", ""},
					{"Value #A", "times", "short"}, {"Value #B", "mean duration", "s"}, {"Value #C", "95th percentile", "s"}},
				Queries: []Query{
					query("", "sum by (variant, job, collective) (%s)", total("csig_collective_seconds_count")),
					query("", "%s", mean("variant, job, collective", "csig_collective_seconds")),
					query("", "%s", quantile(0.95, "variant, job, collective", "csig_collective_seconds")),
				}},
		)...),
	}
}
