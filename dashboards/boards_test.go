package dashboards

import (
	"fmt"
	"strings"
)

// Reasons why a panel is empty.
const (
	NoJob       Reason = "has no jobs that go in steps"
	NoSignals   Reason = "has no host that asks for a CSIG signal"
	NoABW       Reason = "has no CSIG that measures available bandwidth"
	NoBandwidth Reason = "does not ask for the CSIG signal abw"
	NoQueue     Reason = "does not ask for the CSIG signal nqd"
	NoRoom      Reason = "does not ask for the CSIG signal abw or abw-c"
	NoRatio     Reason = "does not ask for the CSIG signal abw-c"
	NoDelay     Reason = "does not ask for the CSIG signal delay"
	NoLab       Reason = "is a lab before csiglab down"
	NoVirtual   Reason = "is not in real time"
	NoFlow      Reason = "has no flows of csiglab's own transport"
	NoTransfer  Reason = "has no transfers"
	NoWindow    Reason = "has congestion control without a window"
	NoFault     Reason = "has no faults"
	NoActions   Reason = "has congestion control that names no actions"
)

// Boards returns the dashboards.
func Boards() []Board {
	return []Board{fabric(), training(), flows(), paths(), fidelity(), compare()}
}

const axis = "**Time.** A lab is shown in wall time. A run folder begins at 2000-01-01 00:00:00 UTC, as all do, and *Time stretch* says how often its time is stretched: with 1000 each second on the axis is a millisecond of the model, and 00:00:05.300 is 5.3 ms; with 10000 it is 0.53 ms. Rates and times in the panels are the model's, and totals are those of the time shown."

const colours = "A variant has one colour on the boards *fabric* and *paths*, and a line says in its name whether it is dashed or dotted. Where lines lie on each other, the thickest is that of the first variant. Lines of flows, jobs and ports have colours by their place in the legend: Grafana colours by names that are known in advance."

func text(height int, content string) Panel {
	return Panel{Kind: Text, Title: "How to read this", Height: height, Text: content}
}

func row(title string) Panel { return Panel{Kind: Row, Title: title} }

// closed is a row of panels that many runs cannot fill.
func closed(title string) Panel { return Panel{Kind: Row, Title: title, Closed: true} }

// chosen are the variants that the user chose.
const chosen = `variant=~"$variant"`

var (
	signature = []Panel{
		{Kind: Signature, Title: "Ports by utilisation", Height: 14, Unit: "percentunit", Max: 1,
			Description: "The 24 busiest ports, one in each row, and the share of each telemetry window in which the line was busy. Red is busy. Ports that turn red together show a collective.",
			Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(24, "csig_port_utilisation_ratio{}"))}},
		{Kind: Signature, Title: "Ports by available bandwidth", Height: 14, Unit: "percentunit", Max: 1, Reverse: true, Empty: []Reason{NoABW},
			Description: "The least bandwidth that each port's CSIG meter measured in a window, as a share of the line's rate. Red is congested. Only ports of switches have a meter.",
			Queries:     []Query{or("csig_port_available_bytes_per_second{}", "no CSIG meter", windows("{{variant}} {{tier}} {{port}}", "csig_port_available_bytes_per_second{} / csig_port_rate_bytes_per_second{} and topk(24, avg_over_time(csig_port_utilisation_ratio{}["+shown+"] @ end()))"))}},
	}
)

// tiers lets the user choose tiers; panels that repeat have one for each.
var tiers = Choice{Name: "tier", Family: "csig_port_rate_bytes_per_second", Label: "tier"}

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
		Choices: []Choice{tiers, {Name: "fabric", Title: "Variant of maps", Family: "csig_run_info", Label: "variant", One: true}},
		Panels: []Panel{
			text(4, axis+" Bursts are shorter than any scrape interval: panels about *windows* count every telemetry window, so that no burst is lost between two scrapes. "+colours),
			variants(
				measure{"mean use", "percentunit", mean("variant", "csig_port_window_utilisation_ratio", `tier!="host"`)},
				measure{"at line rate", "percentunit", fmt.Sprintf("1 - sum by (variant) (%s) / sum by (variant) (%s)",
					total("csig_port_window_utilisation_ratio_bucket", `tier!="host"`, `le="0.95"`), total("csig_port_window_utilisation_ratio_count", `tier!="host"`))},
				measure{"deepest queue", "decbytes", `max by (variant) (max_over_time(csig_port_queue_peak_bytes{tier!="host"}[` + shown + `]))`},
				measure{"trimmed", "short", fmt.Sprintf("sum by (variant) (%s)", total("csig_port_trimmed_packets_total"))},
				measure{"drops, whole run", "short", fmt.Sprintf("max by (variant) (%s) or sum by (variant) (%s)", metric("1", "drops", `subject=""`), total("csig_port_dropped_packets_total"))},
			).saying("Of the ports of switches in the time shown: mean use is the share of the time in which they were busy, over all of them; at line rate is the share of the telemetry windows in which one was busy for more than 95 % of the time; the deepest queue is the greatest depth of a data queue; and trimmed are the packets that were cut to their headers, whose payload is sent again. (In a lab, what lies between two scrapes is not in the deepest queue; the queues of all windows are below.) Drops are packets that were dropped anywhere in the whole run, by full queues, faults, or because there was no way; those that were trimmed are not among them. Of a lab they are those that full queues dropped in the time shown."),
			row("Map"),
			{Kind: NodeGraph, Title: "Fabric, variant $fabric: red is busy, purple is what most CSIG samples name", Height: 24,
				Description: "The switches, and up to 60 of the busiest ports between them as edges. The number is the share of the time shown in which the line was busy, of a switch that of its busiest line. Green is below 50 %, yellow and orange are more, red is 90 % and more; purple is the switch, or the port, that most CSIG samples name, if their locator is that of one port alone. Grafana colours edges from version 11 on; a click on one says its number. It does not fit the graph to the panel either: the wheel of the mouse, or + and -, zoom, and the mouse moves it.",
				Queries:     []Query{{Expr: of(fabricOf, nodes)}, {Expr: of(fabricOf, edges)}}},
			row("Utilisation"),
			{Kind: Timeseries, Title: "Load", Hues: true, Width: 12, Unit: "percentunit", Max: 1,
				Description: "What the ports of the chosen tiers sent, without line overhead, of what their lines could have sent.",
				Queries: []Query{{Counts: true, Legend: "{{variant}}", Expr: of(own, perSecond("variant", `csig_port_transmit_bytes_total{tier=~"$tier"}`)+
					` / on (variant) sum by (variant) (csig_port_rate_bytes_per_second{tier=~"$tier"})`)}}},
			{Kind: Heatmap, Title: "Telemetry windows by utilisation, variant $fabric", Width: 12, Unit: "percentunit",
				Description: "How many windows of ports of switches had which utilisation. Two bands, one at the bottom and one at the top, are bursts: ports are idle or at line rate, whatever their mean.",
				Queries:     []Query{buckets(fabricOf, "csig_port_window_utilisation_ratio", `tier!="host"`)}},
			{Kind: Timeseries, Title: "Busiest port of tier $tier", Hues: true, Width: 12, Unit: "percentunit", Max: 1, Repeat: "tier",
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy. A mean hides bursts; this does not.",
				Queries:     []Query{windows("{{variant}}", "max by (variant) (csig_port_utilisation_ratio{"+tier+"})")}},
			row("Queues and losses"),
			{Kind: Timeseries, Title: "Deepest queue of tier $tier", Hues: true, Width: 12, Unit: "decbytes", Repeat: "tier",
				Description: "Greatest depth of a data queue in the latest telemetry window.",
				Queries:     []Query{windows("{{variant}}", "max by (variant) (csig_port_queue_peak_bytes{"+tier+"})")}},
			{Kind: Heatmap, Title: "Telemetry windows by queue, variant $fabric", Width: 12, Unit: "decbytes",
				Description: "How many windows of ports of switches had which greatest depth of the data queue.",
				Queries:     []Query{buckets(fabricOf, "csig_port_window_queue_bytes", `tier!="host"`)}},
			{Kind: Timeseries, Title: "Least available bandwidth", Hues: true, Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoABW},
				Description: "Least bandwidth that a CSIG meter of the chosen tiers measured in the latest window, as a share of the line's rate: what CSIG packets are told.",
				Queries:     []Query{windows("{{variant}}", `min by (variant) (csig_port_available_bytes_per_second{tier=~"$tier"} / csig_port_rate_bytes_per_second{})`)}},
			{Kind: Timeseries, Title: "Marked, trimmed and dropped packets", Hues: true, Unit: packets,
				Description: "Packets per second that ports marked CE, trimmed to their headers, or dropped as their queue was full.",
				Queries: []Query{
					rates("{{variant}} marked", "variant", "csig_port_marked_packets_total{}", ""),
					rates("{{variant}} trimmed, dashed", "variant", "csig_port_trimmed_packets_total{}", ""),
					rates("{{variant}} dropped, dotted", "variant", "csig_port_dropped_packets_total{}", ""),
				}},
			{Kind: Table, Title: "Ports, time shown", Height: 12, Sort: "mean utilisation", Description: "What each port did in the time shown.",
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
			{Kind: Table, Title: "Faults", Width: 24, Height: 7, Empty: []Reason{NoFault, NoLab}, Sort: "packets lost",
				Description: "The faults of the experiment that happened: the links or nodes that they were at, when they began and ended on the time axis, and how many packets each dropped. Red lines in the panels are their beginnings and ends.",
				Columns: []Column{{"variant", "variant", ""}, {"fault", "fault", ""}, {"kind", "kind", ""}, {"where", "where", ""},
					{"Value #A", "begins", "dateTimeAsIso"}, {"Value #B", "ends", "dateTimeAsIso"}, {"Value #C", "packets lost", "short"}},
				Queries: []Query{query("", "%s", fault("begin")), query("", "%s", fault("end")),
					query("", `max by (variant, fault, kind, where) (0 * %s) + on (variant, fault) group_left () max by (variant, fault) (label_replace(%s, "fault", "$1", "subject", "(.*)"))`,
						latest("csig_run_fault_timestamp_seconds", `edge="begin"`), metric("1", "fault_drops", `subject!=""`))}},
			{Kind: Table, Title: "Run folders that are loaded", Width: 24, Empty: []Reason{NoLab}, Description: "A click on a run shows it, at its time.",
				Columns: []Column{{"run", "run", ""}, {"Value", "ends at", "dateTimeAsIso"}},
				Links:   []Link{{"run", "Show this run", "/d/csiglab-fabric?${datasource:queryparam}&var-run=${__value.text}&from=946684799000&to=${__data.fields[\"ends at\"].numeric}"}},
				Queries: []Query{{Expr: "max by (run) (csig_run_end_timestamp_seconds @ 946684800) * 1000"}}},
		},
	}
}

// fault is when faults began, or ended, in ms.
func fault(edge string) string {
	return fmt.Sprintf("max by (variant, fault, kind, where) (%s) * 1000", latest("csig_run_fault_timestamp_seconds", `edge="`+edge+`"`))
}

const byPort = "variant, node, port, tier, direction"

// ran is what was run: the algorithms of each variant, and where and under which clock its nodes ran.
const ran = "congestion control (CC), load balancing (LB), active queue management (AQM), and the format of the CSIG tag"

// ranBy are the labels of what was run, as columns.
var ranBy = []Column{{"variant", "variant", ""}, {"cc", "CC", ""}, {"lb", "LB", ""}, {"aqm", "AQM", ""}, {"csig", "CSIG", ""}, {"runtime", "runtime", ""}, {"clock", "clock", ""}}

// measure is a number of each variant.
type measure struct{ name, unit, expr string }

// variants is the table of what was run, and of what is known of each variant: its verdict, its lost
// records, and more.
func variants(more ...measure) Panel {
	p := Panel{Kind: Table, Title: "Variants", Height: 12, Columns: ranBy[:len(ranBy):len(ranBy)],
		Description: "Each variant's " + ran + "; where its nodes ran, and under which clock. The verdict is whether csiglab found the run valid: a run is not valid if packets are missing, or if it ran in real time on a machine that was too slow for it. A lab has no verdict before csiglab down, which checks it. Lost records found no room in a bounded buffer: panels lack what they said.",
		Looks: []Look{
			{Column: "verdict", Values: []Mapping{{"-1", "after down", "text"}, {"0", "not valid", "red"}, {"1", "valid", "green"}}, Width: 100},
			{Column: "lost records", Width: 110, Steps: []Step{{0, "green"}, {1, "red"}}},
			{Column: "LB", Width: 100}, {Column: "AQM", Width: 80}, {Column: "CSIG", Width: 90}, {Column: "runtime", Width: 80}, {Column: "clock", Width: 80},
		},
		Queries: []Query{query("", "max by (variant, cc, lb, aqm, csig, runtime, clock) (%s)", latest("csig_run_info"))}}
	for i, m := range append([]measure{
		{"verdict", "none", fmt.Sprintf("max by (variant) (%s or on (variant) -1 * %s)", latest("csig_run_valid"), latest("csig_run_info"))},
		{"lost records", "short", fmt.Sprintf("sum by (variant) (%s)", latest("csig_run_dropped_records_total"))},
	}, more...) {
		p.Columns = append(p.Columns, Column{fmt.Sprintf("Value #%c", 'B'+i), m.name, m.unit})
		p.Queries = append(p.Queries, query("", "%s", m.expr))
	}
	return p
}

// saying is the panel with more in its description.
func (p Panel) saying(more string) Panel {
	p.Description += " " + more
	return p
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
		Choices: []Choice{{Name: "job", Family: "csig_job_step", Label: "job"}, {Name: "trained", Family: "csig_collective_active_ranks", Label: "variant", Only: chosen}},
		Panels: append([]Panel{
			text(4, axis+" Compare the collectives at the top with the ports below them: the same pattern in each step is the signature of the job."),
			{Kind: Table, Title: "Steps, whole run", Width: 24, Empty: []Reason{NoJob, NoLab},
				Description: "Of each job over the whole run, as in its report: median time of a step, and the shares of it in which a rank waits for the network (exposed), for another stage of the pipeline (bubble), for a late rank (skew), or computes; and the most that a rank computes in a step over the mean of the ranks (straggler).",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "job", ""}, {"Value #A", "median step", "s"}, {"Value #B", "exposed", "percentunit"}, {"Value #C", "bubble", "percentunit"},
					{"Value #D", "skew", "percentunit"}, {"Value #E", "compute", "percentunit"}, {"Value #F", "straggler", ""}},
				Queries: []Query{
					run("1e-6", "iteration_us.p50"), run("1", "exposed_share"), run("1", "bubble_share"), run("1", "skew_wait_share"), run("1", "compute_share"), run("1", "straggler_ratio.p50"),
				}},
			{Kind: StateTimeline, Title: "Steps", Height: 5, Empty: []Reason{NoJob},
				Description: "The step that each job is in. In a lab a step is known when its first operation is complete.",
				Queries:     []Query{or("csig_job_step{}", "no job", windows("{{variant}} {{job}}", "max by (variant, job) (csig_job_step{%s})", job))}},
			{Kind: Timeseries, Title: "Ranks in collectives, variant $trained", Stack: true, Repeat: "trained", Empty: []Reason{NoJob, NoLab},
				Description: "How many ranks are in each collective, one above the other. All ranks that enter together make a burst; a slope shows that ranks are late.",
				Queries:     []Query{{Legend: "{{collective}}", Windows: true, Expr: of(strings.Replace(own, "$variant", "$trained", 1), "sum by (collective) (csig_collective_active_ranks{"+job+"})")}}},
		}, append(signature[:len(signature):len(signature)],
			Panel{Kind: Timeseries, Title: "Deepest queues", Width: 12, Unit: "decbytes",
				Description: "Greatest depth of the data queue in each telemetry window, of the eight ports whose queues are deepest on average.",
				Queries:     []Query{windows("{{variant}} {{port}}", "%s", most(8, "csig_port_queue_peak_bytes{}"))}},
			Panel{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps", Empty: []Reason{NoFlow},
				Description: "Payload that receivers got, by job or group of traffic.",
				Queries:     []Query{{Counts: true, Legend: "{{variant}} {{job}}", Expr: of(own, "8 * "+perSecond("variant, job", "csig_flow_receive_bytes_total{"+job+"}"))}}},
			Panel{Kind: Table, Title: "Steps, time shown", Width: 8, Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job that ended in the time shown, in the model's time; that of the whole run is at the top. In a lab each rank counts by itself.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"Value", "mean step", "s"}},
				Queries:     []Query{query("", "%s", mean("variant, job", "csig_job_iteration_seconds", job))}},
			Panel{Kind: Table, Title: "Collectives, time shown", Width: 16, Empty: []Reason{NoJob}, Sort: "mean duration",
				Description: "How often each collective ended in the time shown, and its mean duration there, in the model's time. The 99th percentile is that of the whole run; of a lab it is that of the time shown, an estimate from a histogram.",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "collective", ""},
					{"Value #A", "times", "short"}, {"Value #B", "mean duration", "s"}, {"Value #C", "p99, whole run", "s"}},
				Queries: []Query{
					query("", "%s", ended),
					query("", "%s / %s", collective(total("csig_collective_seconds_sum", job)), ended),
					query("", "max by (variant, subject) (%s) and on (variant, subject) %s or histogram_quantile(0.99, %s)", metric("1e-6", "cct_us.p99", ""), ended,
						strings.Replace(collective(total("csig_collective_seconds_bucket", job)), "by (variant, subject)", "by (variant, subject, le)", 1)),
				}},
			Panel{Kind: Table, Title: "Collectives, whole run", Width: 24, Empty: []Reason{NoJob, NoLab}, Sort: "99th percentile",
				Description: "Completion times of each collective, from the first rank that enters to the last one that leaves; bus bandwidth, which compares with the rate of a link; and skew, from the first rank that enters to the last one.",
				Columns: []Column{{"variant", "variant", ""}, {"subject", "collective", ""},
					{"Value #A", "median", "s"}, {"Value #B", "99th percentile", "s"}, {"Value #C", "greatest", "s"}, {"Value #D", "median bus bandwidth", "bps"}, {"Value #E", "median skew", "s"}},
				Queries: []Query{run("1e-6", "cct_us.p50"), run("1e-6", "cct_us.p99"), run("1e-6", "cct_us.max"), run("1e9", "busbw_gbps.p50"), run("1e-6", "skew_us.p50")}},
		)...),
	}
}
