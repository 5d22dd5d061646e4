package dashboards

import (
	"fmt"
	"strings"
)

// Reasons why a panel is empty.
const (
	NoJob       Reason = "Empty for a run without training jobs."
	NoSignals   Reason = "Empty for a run whose hosts ask for no CSIG signal."
	NoABW       Reason = "Empty for a run without CSIG that measures available bandwidth."
	NoBandwidth Reason = "Empty unless hosts ask for the CSIG signal abw."
	NoQueue     Reason = "Empty unless hosts ask for the CSIG signal nqd."
	NoRoom      Reason = "Empty unless hosts ask for the CSIG signal abw or abw-c."
	NoRatio     Reason = "Empty unless hosts ask for the CSIG signal abw-c."
	NoDelay     Reason = "Empty unless hosts ask for the CSIG signal delay."
	NoLab       Reason = "Empty for a lab: csiglab knows this when a run has ended."
	NoVirtual   Reason = "Empty for runs in virtual time and in lockstep, which no wall clock can delay."
	NoTransfer  Reason = "Empty for a run without transfers, such as one with training jobs alone."
	NoWindow    Reason = "Empty for congestion control without a window."
	NoFault     Reason = "Empty for a run without faults."
	NoActions   Reason = "Empty for congestion control that names no actions."
)

// Boards returns the dashboards.
func Boards() []Board {
	return []Board{fabric(), training(), flows(), paths(), fidelity(), compare()}
}

const axis = "**Time.** A lab is shown in wall time. A run folder begins at 2000-01-01 00:00:00 UTC, as all do, and with a stretch of 1000 each second on the axis is a millisecond of the model: 00:00:05.300 is 5.3 ms. Rates and times in the panels are the model's, and totals are those of the time that is shown."

func text(height int, content string) Panel {
	return Panel{Kind: Text, Title: "How to read this", Height: height, Text: content}
}

func row(title string) Panel { return Panel{Kind: Row, Title: title} }

// closed is a row of panels that many runs cannot fill.
func closed(title string) Panel { return Panel{Kind: Row, Title: title, Closed: true} }

var (
	valid     = []Mapping{{"0", "not valid", "red"}, {"1", "valid", "green"}}
	noneIsOK  = []Step{{0, "green"}, {1, "red"}}
	signature = []Panel{
		{Kind: Signature, Title: "Ports by utilisation", Height: 12, Unit: "percentunit", Max: 1,
			Description: "The 40 busiest ports, one in each row, and the share of each telemetry window in which the line was busy. Red is busy. Ports that turn red together show a collective.",
			Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(40, "csig_port_utilisation_ratio{}"))}},
		{Kind: Signature, Title: "Ports by available bandwidth", Height: 12, Unit: "percentunit", Max: 1, Reverse: true, Empty: []Reason{NoABW},
			Description: "The least bandwidth that each port's CSIG meter measured in a window, as a share of the line's rate. Red is congested. Only ports of switches have a meter.",
			Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "csig_port_available_bytes_per_second{} / csig_port_rate_bytes_per_second{} and topk(40, avg_over_time(csig_port_utilisation_ratio{}["+shown+"] @ end()))")}},
	}
)

// tiers lets the user choose tiers; panels that repeat have one for each.
var tiers = Choice{"tier", "csig_port_rate_bytes_per_second", "tier", false}

func fabric() Board {
	const tier, fabricOf = `tier=~"$tier"`, `run="$run",variant="$fabric",seed="$seed",stretch="$stretch"`
	info := latest("csig_port_info", `tier!="host"`)
	// The port that most samples name, with the labels of a port.
	named := fmt.Sprintf(`max by (node, port) (%s) * on (port) group_left () topk(1, label_replace(sum by (bottleneck) (%s), "port", "$1", "bottleneck", "(.*)"))`, info, total("csig_signal_samples_total", `bottleneck!=""`))
	bands := [][2]string{{"red", ">= 0.9"}, {"orange", ">= 0.7"}, {"yellow", ">= 0.5"}, {"green", ""}}
	worst := "max by (node, tier) (" + mean("node, port, tier", "csig_port_window_utilisation_ratio", `tier!="host"`) + ")"
	nodes := graph("node, tier", coloured(worst, append([][2]string{{"purple", "and on (node) " + named}}, bands...)...), [2]string{"id", "node"}, [2]string{"title", "node"}, [2]string{"subtitle", "tier"})
	between := fmt.Sprintf(`topk(60, (%s) * on (node, port) group_left (peer) (max by (node, port, peer) (%s) and on (peer) label_replace(%[2]s, "peer", "$1", "node", "(.*)")))`,
		mean("node, port", "csig_port_window_utilisation_ratio", `tier!="host"`), info)
	edges := graph("node, port, peer", coloured(between, append([][2]string{{"purple", "and on (node, port) " + named}}, bands...)...), [2]string{"id", "port"}, [2]string{"source", "node"}, [2]string{"target", "peer"})
	return Board{
		UID: "csiglab-fabric", Title: "csiglab: fabric overview", Description: "Which ports of the fabric are busy, how deep their queues are and what they drop.", Counts: true,
		Choices: []Choice{tiers, {"fabric", "csig_run_info", "variant", true}},
		Panels: []Panel{
			text(4, axis+" Bursts are shorter than any scrape interval: panels about *windows* count every telemetry window, so that no burst is lost between two scrapes."),
			{Kind: Stat, Title: "Verdict", Width: 4, Height: 4, Values: valid, Empty: []Reason{NoLab},
				Description: "Whether csiglab found the run valid.",
				Queries:     []Query{query("", "min(%s)", latest("csig_run_valid"))}},
			{Kind: Stat, Title: "Lost records", Width: 4, Height: 4, Steps: noneIsOK,
				Description: "Records that found no room in a bounded buffer. The other panels lack what they said.",
				Queries:     []Query{query("", "sum(%s)", latest("csig_run_dropped_records_total"))}},
			{Kind: Stat, Title: "Mean use of switch ports", Width: 4, Height: 4, Unit: "percentunit", Decimals: 1,
				Description: "Share of the time that is shown in which the ports of switches were busy, over all of them.",
				Queries:     []Query{query("{{variant}}", "%s", mean("variant", "csig_port_window_utilisation_ratio", `tier!="host"`))}},
			{Kind: Stat, Title: "Windows at line rate", Width: 4, Height: 4, Unit: "percentunit", Decimals: 1,
				Description: "Share of the telemetry windows in which a port of a switch was busy for more than 95 % of the time.",
				Queries: []Query{query("{{variant}}", "1 - sum by (variant) (%s) / sum by (variant) (%s)",
					total("csig_port_window_utilisation_ratio_bucket", `tier!="host"`, `le="0.95"`), total("csig_port_window_utilisation_ratio_count", `tier!="host"`))}},
			{Kind: Stat, Title: "Deepest queue of switches", Width: 4, Height: 4, Unit: "decbytes",
				Description: "Greatest depth of a data queue of a switch that was seen. In a lab, what lies between two scrapes is not seen here; the queues of all windows are below.",
				Queries:     []Query{query("{{variant}}", `max by (variant) (max_over_time(csig_port_queue_peak_bytes{tier!="host"}[%s]))`, shown)}},
			{Kind: Stat, Title: "Dropped packets", Width: 4, Height: 4, Steps: []Step{{0, "green"}, {1, "orange"}},
				Description: "Packets that were dropped anywhere in the whole run, by full queues, faults, or because there was no way. Those that were trimmed to their headers are not lost: they are sent again. Of a lab those that full queues dropped in the time that is shown.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (%s) or sum by (variant) (%s)", metric("1", "drops", `subject=""`), total("csig_port_dropped_packets_total"))}},
			ran(24),
			row("Map"),
			{Kind: NodeGraph, Title: "Fabric of $fabric", Height: 18,
				Description: "The switches, and up to 60 of the busiest ports between them as edges. The number is the share of the time that is shown in which the line was busy, of a switch that of its busiest line. Green is below 50 %, yellow and orange are more, red is 90 % and more; purple is the switch, or the port, that most CSIG samples name. Grafana colours edges from version 11 on; a click on one says its number.",
				Queries:     []Query{{Expr: of(fabricOf, nodes)}, {Expr: of(fabricOf, edges)}}},
			row("Utilisation"),
			{Kind: Timeseries, Title: "Load", Width: 12, Unit: "percentunit", Max: 1,
				Description: "What the ports of the chosen tiers sent, without line overhead, of what their lines could have sent.",
				Queries: []Query{{Counts: true, Legend: "{{variant}}", Expr: of(own, perSecond("variant", `csig_port_transmit_bytes_total{tier=~"$tier"}`)+
					` / on (variant) sum by (variant) (csig_port_rate_bytes_per_second{tier=~"$tier"})`)}}},
			{Kind: Heatmap, Title: "Telemetry windows by utilisation", Width: 12, Unit: "percentunit",
				Description: "How many windows of ports of switches had which utilisation. Two bands, one at the bottom and one at the top, are bursts: ports are idle or at line rate, whatever their mean.",
				Queries:     []Query{buckets("csig_port_window_utilisation_ratio", `tier!="host"`)}},
			{Kind: Timeseries, Title: "Busiest port of tier $tier", Width: 12, Unit: "percentunit", Max: 1, Repeat: "tier",
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy. A mean hides bursts; this does not.",
				Queries:     []Query{windows("{{variant}}", "max by (variant) (csig_port_utilisation_ratio{"+tier+"})")}},
			row("Queues and losses"),
			{Kind: Timeseries, Title: "Deepest queue of tier $tier", Width: 12, Unit: "decbytes", Repeat: "tier",
				Description: "Greatest depth of a data queue in the latest telemetry window.",
				Queries:     []Query{windows("{{variant}}", "max by (variant) (csig_port_queue_peak_bytes{"+tier+"})")}},
			{Kind: Heatmap, Title: "Telemetry windows by queue", Width: 12, Unit: "decbytes",
				Description: "How many windows of ports of switches had which greatest depth of the data queue.",
				Queries:     []Query{buckets("csig_port_window_queue_bytes", `tier!="host"`)}},
			{Kind: Timeseries, Title: "Marked, trimmed and dropped packets", Width: 12, Unit: "pps",
				Description: "Packets per second that ports marked CE, trimmed to their headers, or dropped as their queue was full.",
				Queries: []Query{
					rates("{{variant}} marked", "variant", "csig_port_marked_packets_total{}", ""),
					rates("{{variant}} trimmed", "variant", "csig_port_trimmed_packets_total{}", ""),
					rates("{{variant}} dropped", "variant", "csig_port_dropped_packets_total{}", ""),
				}},
			{Kind: Timeseries, Title: "Least available bandwidth", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoABW},
				Description: "Least bandwidth that a CSIG meter of the chosen tiers measured in the latest window, as a share of the line's rate: what CSIG packets are told.",
				Queries:     []Query{windows("{{variant}}", `min by (variant) (csig_port_available_bytes_per_second{tier=~"$tier"} / csig_port_rate_bytes_per_second{})`)}},
			{Kind: BarGauge, Title: "Dropped packets by fault", Width: 12, Empty: []Reason{NoLab, NoFault},
				Description: "Packets that each fault of the experiment dropped, over the whole run.",
				Queries:     []Query{query("{{variant}} {{subject}}", "%s", metric("1", "fault_drops", `subject!=""`))}},
			{Kind: Table, Title: "Ports", Height: 10, Sort: "mean utilisation", Description: "What each port did in the time that is shown.",
				Columns: []Column{{"variant", "variant", ""}, {"port", "port", ""}, {"tier", "tier", ""}, {"direction", "direction", ""},
					{"Value #A", "sent", "decbytes"}, {"Value #B", "mean utilisation", "percentunit"}, {"Value #C", "marked", "short"}, {"Value #D", "trimmed", "short"}, {"Value #E", "dropped", "short"}},
				Links: []Link{{"port", "Flows whose samples name this port", "/d/csiglab-flows?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-bottleneck=${__value.text}&${__url_time_range}"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", byPort, total("csig_port_transmit_bytes_total")),
					query("", "%s", mean(byPort, "csig_port_window_utilisation_ratio")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_marked_packets_total")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_trimmed_packets_total")),
					query("", "sum by (%s) (%s)", byPort, total("csig_port_dropped_packets_total")),
				}},
			{Kind: Table, Title: "Run folders that are loaded", Height: 6, Empty: []Reason{NoLab}, Description: "A click on a run shows it, at its time.",
				Columns: []Column{{"run", "run", ""}, {"Value", "ends at", "dateTimeAsIso"}},
				Links:   []Link{{"run", "Show this run", "/d/csiglab-fabric?${datasource:queryparam}&var-run=${__value.text}&from=946684799000&to=${__data.fields[\"ends at\"].numeric}"}},
				Queries: []Query{{Expr: "max by (run) (csig_run_end_timestamp_seconds @ 946684800) * 1000"}}},
		},
	}
}

const byPort = "variant, node, port, tier, direction"

// ran is the table of what was run.
func ran(width int) Panel {
	return Panel{Kind: Table, Title: "What ran", Width: width, Height: 6, Description: "The run, and the algorithms of each variant.",
		Columns: []Column{{"run", "run", ""}, {"experiment", "experiment", ""}, {"variant", "variant", ""}, {"seed", "seed", ""}, {"runtime", "runtime", ""}, {"clock", "clock", ""},
			{"cc", "congestion control", ""}, {"lb", "load balancing", ""}, {"aqm", "AQM", ""}, {"csig", "CSIG", ""}, {"stretch", "time stretch", ""}},
		Queries: []Query{query("", "max by (run, experiment, variant, seed, runtime, clock, cc, lb, aqm, csig, stretch) (%s)", latest("csig_run_info"))}}
}

// collective names a collective of a histogram as the metrics of a run do.
func collective(expr string) string {
	return `sum by (variant, subject) (label_join(` + expr + `, "subject", ".", "job", "collective"))`
}

func training() Board {
	job := `job=~"$job"`
	run := func(scale, name string) Query {
		return query("", "max by (variant, subject) (%s)", metric(scale, name, `subject!=""`))
	}
	ended := collective(total("csig_collective_seconds_count", job))
	return Board{
		UID: "csiglab-training", Title: "csiglab: training-step signature", Description: "When the collectives of a training step use which ports of the fabric.", Steps: true, Counts: true,
		Choices: []Choice{{"job", "csig_job_step", "job", false}},
		Panels: append([]Panel{
			text(4, axis+" Compare the collectives at the top with the ports below them: the same pattern in each step is the signature of the job."),
			{Kind: Table, Title: "Steps in numbers", Width: 24, Height: 6, Empty: []Reason{NoJob, NoLab},
				Description: "Of each job over the whole run, as in its report: median time of a step, and the shares of it in which a rank waits for the network (exposed), for another stage of the pipeline (bubble), for a late rank (skew), or computes; and the most that a rank computes in a step over the mean of the ranks (straggler).",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "job", ""}, {"Value #A", "step", "s"}, {"Value #B", "exposed", "percentunit"}, {"Value #C", "bubble", "percentunit"},
					{"Value #D", "skew", "percentunit"}, {"Value #E", "compute", "percentunit"}, {"Value #F", "straggler", ""}},
				Queries: []Query{
					run("1e-6", "iteration_us.p50"), run("1", "exposed_share"), run("1", "bubble_share"), run("1", "skew_wait_share"), run("1", "compute_share"), run("1", "straggler_ratio.p50"),
				}},
			{Kind: StateTimeline, Title: "Steps", Height: 5, Empty: []Reason{NoJob},
				Description: "The highest step of each job of which an operation is complete.",
				Queries:     []Query{windows("{{variant}} {{job}}", "max by (variant, job) (csig_job_step{%s})", job)}},
			{Kind: Timeseries, Title: "Ranks in collectives of $variant", Stack: true, Repeat: "variant", Width: 24, Empty: []Reason{NoJob, NoLab},
				Description: "How many ranks are in each collective, one above the other. All ranks that enter together make a burst; a slope shows that ranks are late.",
				Queries:     []Query{windows("{{collective}}", "sum by (collective) (csig_collective_active_ranks{%s})", job)}},
		}, append(signature[:len(signature):len(signature)],
			Panel{Kind: Timeseries, Title: "Deepest queues", Width: 12, Unit: "decbytes",
				Description: "Greatest depth of the data queue in each telemetry window, of the eight ports whose queues are deepest on average.",
				Queries:     []Query{windows("{{variant}} {{port}}", "%s", most(8, "csig_port_queue_peak_bytes{}"))}},
			Panel{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps",
				Description: "Payload that receivers got, by job or group of traffic.",
				Queries:     []Query{{Counts: true, Legend: "{{variant}} {{job}}", Expr: of(own, "8 * "+perSecond("variant, job", "csig_flow_receive_bytes_total{"+job+"}"))}}},
			Panel{Kind: BarGauge, Title: "Mean time of a step", Width: 8, Unit: "s", Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job that ended in the time that is shown, in the model's time. In a lab each rank counts by itself.",
				Queries:     []Query{query("{{variant}} {{job}}", "%s", mean("variant, job", "csig_job_iteration_seconds", job))}},
			Panel{Kind: Table, Title: "Collectives", Width: 16, Empty: []Reason{NoJob}, Sort: "mean duration",
				Description: "How often each collective ended in the time that is shown, and its mean duration, in the model's time. The 99th percentile is that of the whole run, and of a lab an estimate from a histogram.",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "collective", ""},
					{"Value #A", "times", "short"}, {"Value #B", "mean duration", "s"}, {"Value #C", "99th percentile", "s"}},
				Queries: []Query{
					query("", "%s", ended),
					query("", "%s / %s", collective(total("csig_collective_seconds_sum", job)), ended),
					query("", "max by (variant, subject) (%s) and on (variant, subject) %s or histogram_quantile(0.99, %s)", metric("1e-6", "cct_us.p99", ""), ended,
						strings.Replace(collective(total("csig_collective_seconds_bucket", job)), "by (variant, subject)", "by (variant, subject, le)", 1)),
				}},
			Panel{Kind: Table, Title: "Collectives over the whole run", Width: 24, Empty: []Reason{NoJob, NoLab}, Sort: "99th percentile",
				Description: "Completion times of each collective, from the first rank that enters to the last one that leaves; bus bandwidth, which compares with the rate of a link; and skew, from the first rank that enters to the last one.",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "collective", ""},
					{"Value #A", "median", "s"}, {"Value #B", "99th percentile", "s"}, {"Value #C", "greatest", "s"}, {"Value #D", "median bus bandwidth", "bps"}, {"Value #E", "median skew", "s"}},
				Queries: []Query{run("1e-6", "cct_us.p50"), run("1e-6", "cct_us.p99"), run("1e-6", "cct_us.max"), run("1e9", "busbw_gbps.p50"), run("1e-6", "skew_us.p50")}},
		)...),
	}
}
