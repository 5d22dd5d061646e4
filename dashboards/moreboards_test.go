package dashboards

import (
	"fmt"
	"strings"
)

// Units of rates. The space keeps Grafana from taking the first letter for a prefix.
const (
	packets = "si: packets/s"
	acks    = "si: ACKs/s"
	samples = "si: samples/s"
)

// actionColours are those of what congestion control does, the same in all panels: more is green to
// blue, less is red to orange, and grey is nothing.
var actionColours = []LineColour{
	{"^none$", "#808080"}, {"^noop$", "#808080"}, {"^hold$", "#808080"},
	{"^additive_increase$", "#37872d"}, {"^proportional_increase$", "#37872d"}, {"^multiplicative_increase$", "#96d98d"}, {"^slow_start$", "#00a0a8"},
	{"^fast_increase$", "#3274d9"}, {"^fair_increase$", "#96d98d"}, {"^headroom_increase$", "#3274d9"}, {"^hyper_increase$", "#3274d9"}, {"^fast_recovery$", "#e0b400"},
	{"^multiplicative_change$", "#ff780a"}, {"^multiplicative_decrease$", "#e02f44"}, {"^rate_decrease$", "#e02f44"}, {"^quick_adapt$", "#a352cc"},
}

// tierColours are those of the tiers of two runs: cold ones of run 1, warm ones of run 2.
var tierColours = []LineColour{
	{"^1: .* agg$", "#00a0a8"}, {"^1: .* core$", "#a352cc"},
	{"^2: .* agg$", "#e02f44"}, {"^2: .* core$", "#e0b400"},
}

const locators = "Where a name begins with locator, several ports share the locator: tags do not tell them apart."

func flows() Board {
	const by, legend, one = "variant, job, flow", "{{variant}} {{job}} {{flow}}", `job=~"$job"`
	return Board{
		UID: "csiglab-flows", Title: "csiglab: flows and congestion control", Description: "What flows got, what their congestion control did, and what CSIG told it.", Counts: true,
		Choices: []Choice{{Name: "job", Family: "csig_flow_receive_bytes_total", Label: "job"}, {Name: "bottleneck", Family: "csig_signal_samples_total", Label: "bottleneck"}, {Name: "acting", Family: "csig_cc_actions_total", Label: "variant", Only: chosen}},
		Panels: []Panel{
			text(4, axis+" A run with more than 16 flows has lines by job, not by flow; a job's window is the sum over its flows."),
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps", Empty: []Reason{NoFlow},
				Description: "Payload that the receiver got, without duplicates.",
				Queries:     []Query{{Counts: true, Legend: legend, Expr: of(own, "8 * "+perSecond(by, "csig_flow_receive_bytes_total{"+one+"}"))}}},
			{Kind: Timeseries, Title: "Congestion window", Width: 12, Unit: "decbytes", Empty: []Reason{NoFlow, NoWindow},
				Description: "The window after the latest ACK.",
				Queries:     []Query{windows(legend, "sum by (%s) (csig_flow_cwnd_bytes{%s})", by, one)}},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s", Empty: []Reason{NoFlow},
				Description: "Mean over the ACKs of the latest telemetry window with any, in the model's time.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_flow_delay_seconds{%s})", by, one)}},
			{Kind: Table, Title: "Flows, time shown", Width: 12, Empty: []Reason{NoFlow}, Sort: "received", Description: "What each flow did in the time shown.",
				Columns: []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "received", "decbytes"}, {"Value #B", "ACKs", "short"}},
				Links:   []Link{{"job", "Steps of this job", "/d/csiglab-training?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-job=${__value.text}&${__url_time_range}"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_receive_bytes_total", one)),
					query("", "sum by (%s) (%s)", by, total("csig_flow_acks_total", one)),
				}},
			row("Completion and losses"),
			{Kind: Table, Title: "Completion times, whole run", Width: 24, Empty: []Reason{NoTransfer, NoLab},
				Description: "Of the flows of the whole run, in the model's time: the median of their completion times, the time that 99 of 100 stayed below, and the greatest. Slowdown is the completion time as a multiple of that in an empty network: 1 is the best.",
				Columns: []Column{{"variant", "variant", ""}, {"Value #A", "median", "s"}, {"Value #B", "99th percentile", "s"}, {"Value #C", "greatest", "s"},
					{"Value #D", "mean slowdown", "none"}, {"Value #E", "p99 slowdown", "none"}},
				Queries: []Query{statistic("1e-6", "fct_us.p50"), statistic("1e-6", "fct_us.p99"), statistic("1e-6", "fct_us.max"), statistic("1", "slowdown.mean"), statistic("1", "slowdown.p99")}},
			{Kind: Table, Title: "Packets sent again, time shown", Width: 12, Empty: []Reason{NoLab}, Sort: "sent again",
				Description: "Packets that were sent again, and timeouts of senders, of the flows that ended in the time shown.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "sent again", "short"}, {"Value #B", "timeouts", "short"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_retransmitted_packets_total", one)),
					query("", "sum by (%s) (%s)", by, total("csig_flow_timeouts_total", one)),
				}},
			{Kind: Table, Title: "Packets sent again, whole run", Width: 12, Empty: []Reason{NoLab},
				Description: "Packets of the whole run that were sent again, and those given up for lost by a timeout.",
				Columns:     []Column{{"variant", "variant", ""}, {"Value #A", "sent again", "short"}, {"Value #B", "timeouts", "short"}},
				Queries:     []Query{statistic("1", "packets.retransmitted"), statistic("1", "packets.timeouts")}},
			row("What congestion control did"),
			{Kind: Timeseries, Title: "ACKs by action, variant $acting", Colours: actionColours, Unit: acks, Stack: true, Repeat: "acting", Empty: []Reason{NoFlow, NoActions},
				Description: "ACKs per second, by the action that the congestion control answered with: which of its rules is at work.",
				Queries:     []Query{{Counts: true, Legend: "{{action}}", Expr: of(strings.Replace(own, "$variant", "$acting", 1), perSecond("variant, action", "csig_cc_actions_total{"+one+"}"))}}},
			closed("CSIG"),
			{Kind: Timeseries, Title: "CSIG samples", Width: 12, Unit: samples, Empty: []Reason{NoSignals},
				Description: "Samples per second that came back to senders, by signal.",
				Queries:     []Query{rates("{{variant}} {{signal}}", "variant, signal", "csig_signal_samples_total{"+one+"}", "")}},
			{Kind: Table, Title: "Flows whose samples name a port", Width: 12, Sort: "samples", Empty: []Reason{NoSignals},
				Description: "The flows, or jobs, with most samples that name one of the chosen bottlenecks, in the time shown. " + locators,
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"bottleneck", "bottleneck", ""}, {"Value", "samples", "short"}},
				Links:       []Link{{"job", "Steps of this job", "/d/csiglab-training?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-job=${__value.text}&${__url_time_range}"}},
				Queries:     []Query{query("", "topk(50, sum by (variant, job, flow, bottleneck) (%s))", total("csig_signal_samples_total", one, `bottleneck=~"$bottleneck"`, `bottleneck!=""`))}},
			{Kind: Timeseries, Title: "Worst hop by delay", Width: 12, Unit: "s", Empty: []Reason{NoDelay},
				Description: "Greatest delay of a hop in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_signal_delay_seconds{%s})", by, one)}},
			{Kind: Timeseries, Title: "Worst hop by available bandwidth", Width: 12, Unit: "bps", Empty: []Reason{NoBandwidth},
				Description: "Least available bandwidth in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "8 * min by (%s) (csig_signal_available_bytes_per_second{%s})", by, one)}},
			{Kind: Timeseries, Title: "Worst hop by available share", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoRatio},
				Description: "Least available share of a link's rate in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "min by (%s) (csig_signal_available_ratio{%s})", by, one)}},
			{Kind: Timeseries, Title: "Worst hop by queue", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoQueue},
				Description: "Greatest normalised queue depth of a hop in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_signal_queue_ratio{%s})", by, one)}},
		},
	}
}

// statistic is a query of a metric of the whole run.
func statistic(scale, name string) Query {
	return query("", "max by (variant) (%s)", metric(scale, name, `subject=""`))
}

func paths() Board {
	const group = "variant, tier, direction"
	share := func(reduce, name string) Query {
		return windows("{{variant}} "+name, `%s by (variant) (csig_port_utilisation_ratio{tier=~"$rising",direction="up"})`, reduce)
	}
	up := `tier!="host",direction="up"`
	const racks = "source, destination"
	// of the variants that a panel repeats for
	each := func(variable string) string { return strings.Replace(own, "$variant", "$"+variable, 1) }
	// over is the mean of the values of samples between racks.
	over := func(signal string) string {
		return fmt.Sprintf("sum by (%s) (%s) / sum by (%[1]s) (%[3]s)", racks, total("csig_path_values_total", `signal="`+signal+`"`), total("csig_path_samples_total", `signal="`+signal+`"`))
	}
	pairs := func(title, variable, expr string) Panel {
		return Panel{Kind: Table, Title: title + " between racks, variant $" + variable, Height: 9, Repeat: variable, Matrix: [3]string{"source", "destination", "Value"}, Queries: []Query{{Expr: of(each(variable), expr)}}}
	}
	available := pairs("Mean available bandwidth", "roomy", over("abw")+" / scalar(max("+latest("csig_port_rate_bytes_per_second")+")) or "+over("abw-c"))
	available.Unit, available.Steps, available.Empty = "percentunit", []Step{{0, "transparent"}, {0, "red"}, {0.1, "orange"}, {0.25, "yellow"}, {0.5, "green"}}, []Reason{NoRoom}
	available.Description = "What CSIG samples of the traffic from the rack on the left to the one at the top said on average in the time shown: the bandwidth left at the bottleneck, as a share of the fastest line's rate. Red is congested. Samples may be of abw or of abw-c."
	delay := pairs("Mean delay of the worst hop", "delayed", over("delay"))
	delay.Unit, delay.Steps, delay.Empty = "s", []Step{{0, "transparent"}, {0, "green"}, {5e-6, "yellow"}, {10e-6, "orange"}, {20e-6, "red"}}, []Reason{NoDelay}
	delay.Description = "What CSIG samples of the traffic from the rack on the left to the one at the top said on average in the time shown: the delay of the worst hop, in the model's time. Red is 20 us and more."
	named := pairs("Bottleneck", "sampled", spelt(fmt.Sprintf("topk by (%s) (1, sum by (%[1]s, bottleneck, tier) (%s))", racks, total("csig_path_samples_total", `bottleneck!=""`))))
	named.Matrix[2], named.Empty = "bottleneck", []Reason{NoSignals}
	named.Description = "The port that most CSIG samples of the traffic from the rack on the left to the one at the top named in the time shown. " + locators
	// variants whose hosts ask for a signal
	asks := func(variable, signal string) Choice {
		return Choice{Name: variable, Family: "csig_path_samples_total", Label: "variant", Only: chosen + signal}
	}
	return Board{
		UID: "csiglab-paths", Title: "csiglab: load balancing and paths", Description: "How evenly the paths of the fabric are used, and which ports CSIG names as bottlenecks.", Counts: true,
		Choices: []Choice{tiers, {Name: "rising", Family: "csig_port_rate_bytes_per_second", Label: "tier", Only: `tier=~"$tier",direction="up"`}, asks("sampled", ""), asks("roomy", `,signal=~"abw|abw-c"`), asks("delayed", `,signal="delay"`)},
		Panels: []Panel{
			text(4, axis+" Ports that lead up, away from the hosts, are those among which load balancing chooses. "+colours),
			row("Map of the fabric, as CSIG sees it: available bandwidth"),
			available, row("Map of delays"), delay, row("Map of bottlenecks"), named,
			row("Balance"),
			{Kind: Timeseries, Title: "Spread of utilisation, upwards in tier $rising", Hues: true, Unit: "percentunit", Max: 1, Repeat: "rising",
				Description: "Greatest, mean and least utilisation of the ports of the tier that lead up, in the latest telemetry window. Lines far apart mean that some ports are full while others are free.",
				Queries:     []Query{share("max", "greatest"), share("avg", "mean, dashed"), share("min", "least, dotted")}},
			{Kind: Table, Title: "Greatest over mean utilisation", Width: 8, Height: 14, Sort: "ratio",
				Description: "Utilisation of the busiest port of a tier, as a multiple of the tier's mean, in the time shown. 1 is an even load.",
				Columns:     []Column{{"variant", "variant", ""}, {"tier", "tier", ""}, {"direction", "direction", ""}, {"Value", "ratio", "none"}},
				// All ports have as many windows, so that sums are enough; means read too many series of large runs.
				Queries: []Query{query("", "max by (%s) (sum by (%s) (%s)) / avg by (%[1]s) (sum by (%[2]s) (%[3]s))", group, byPort,
					total("csig_port_window_utilisation_ratio_sum", `tier!="host"`))}},
			{Kind: Signature, Title: "Ports that lead up, by utilisation", Width: 16, Height: 14, Unit: "percentunit", Max: 1,
				Description: "The 24 busiest ports that lead away from the hosts, one in each row, and the share of each telemetry window in which the line was busy. Red is busy. Even shades in a column mean an even load.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(24, "csig_port_utilisation_ratio{"+up+"}"))}},
			row("Bottlenecks"),
			{Kind: Timeseries, Title: "Bottlenecks that CSIG samples name, variant $sampled", Unit: samples, Stack: true, Repeat: "sampled", Empty: []Reason{NoSignals},
				Description: "Samples per second by the port that their locator stands for, of the eight ports that are named most often. " + locators,
				Queries: []Query{{Counts: true, Legend: "{{bottleneck}}", Expr: of(each("sampled"), spelt("("+perSecond("variant, bottleneck, tier", `csig_signal_samples_total{bottleneck!=""}`)+
					` and on (variant, bottleneck, tier) topk(8, sum by (variant, bottleneck, tier) (last_over_time(csig_signal_samples_total{bottleneck!=""}[`+shown+`] @ end()))))`))}}},
			{Kind: Table, Title: "Share of each bottleneck", Width: 12, Empty: []Reason{NoSignals}, Sort: "share of the samples",
				Description: "Share of the samples that name the port, in the time shown; the ten most frequent ones of those that name any. " + locators,
				Columns:     []Column{{"variant", "variant", ""}, {"bottleneck", "bottleneck", ""}, {"Value", "share of the samples", "percentunit"}},
				Looks:       []Look{{Column: "share of the samples", Bar: true}},
				Queries: []Query{query("", "%s", spelt(fmt.Sprintf("topk(10, sum by (variant, bottleneck, tier) (%s) / on (variant) group_left () sum by (variant) (%[1]s))",
					total("csig_signal_samples_total", `bottleneck!=""`))))}},
			{Kind: Table, Title: "Bottlenecks by job", Width: 12, Empty: []Reason{NoSignals}, Sort: "samples",
				Description: "How many samples of each job name which port, in the time shown. " + locators,
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"signal", "signal", ""}, {"bottleneck", "bottleneck", ""}, {"tier", "tier", ""}, {"Value", "samples", "short"}},
				Links:       []Link{{"job", "Steps of this job", "/d/csiglab-training?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-job=${__value.text}&${__url_time_range}"}},
				Queries:     []Query{query("", "%s", spelt(fmt.Sprintf("topk(50, sum by (variant, job, signal, bottleneck, tier) (%s))", total("csig_signal_samples_total", `bottleneck!=""`))))}},
			{Kind: Table, Title: "Packets trimmed or dropped by port", Sort: "packets",
				Description: "The ten ports that trimmed or dropped most packets in the time shown.",
				Columns:     []Column{{"variant", "variant", ""}, {"port", "port", ""}, {"Value", "packets", "short"}},
				Queries: []Query{query("", "topk(10, sum by (variant, port) (%s) + sum by (variant, port) (%s))",
					total("csig_port_trimmed_packets_total"), total("csig_port_dropped_packets_total"))}},
		},
	}
}

func fidelity() Board {
	return Board{
		UID: "csiglab-fidelity", Title: "csiglab: fidelity", Description: "Whether the machine kept up with the run, so that its numbers can be trusted.",
		Panels: []Panel{
			text(3, "In real time a node that gets the processor too late distorts what it measures. Virtual time and lockstep have no such errors: their runs have no lateness and lose no frames."),
			variants(),
			closed("Runs in real time"),
			{Kind: Table, Title: "Lateness", Empty: []Reason{NoVirtual}, Height: 9,
				Description: "Dilation is how many wall seconds a second of the model takes. The greatest lateness is the greatest wall time by which a node was late for an event. The share compares it with the smallest delay that matters, of the shortest link or a full packet on the fastest one, times the dilation: from 100 % on an event was late by a whole hop.",
				Columns:     []Column{{"variant", "variant", ""}, {"Value #A", "dilation", "none"}, {"Value #B", "greatest lateness", "s"}, {"Value #C", "lateness over the smallest delay", "percentunit"}},
				Looks:       []Look{{Column: "lateness over the smallest delay", Steps: []Step{{0, "green"}, {0.5, "yellow"}, {1, "red"}}}},
				Queries: []Query{
					query("", "max by (variant) (%s)", latest("csig_run_dilation_ratio")),
					query("", "max by (variant) (%s)", latest("csig_node_lateness_seconds")),
					query("", "max by (variant) (%s) / max by (variant) (%s * %s)", latest("csig_node_lateness_seconds"),
						latest("csig_run_smallest_delay_seconds"), latest("csig_run_dilation_ratio")),
				}},
			{Kind: Table, Title: "Lateness by node", Width: 12, Empty: []Reason{NoVirtual}, Sort: "greatest lateness",
				Description: "Greatest wall time by which each node was late for an event, of the 20 latest nodes.",
				Columns:     []Column{{"variant", "variant", ""}, {"node", "node", ""}, {"Value", "greatest lateness", "s"}},
				Queries:     []Query{query("", "topk(20, max by (variant, node) (%s))", latest("csig_node_lateness_seconds"))}},
			{Kind: Table, Title: "Lost frames by node", Width: 12, Empty: []Reason{NoVirtual, NoLab}, Sort: "lost frames",
				Description: "Frames that were sent to the node over links and that it did not receive, of the 20 nodes with most of them.",
				Columns:     []Column{{"variant", "variant", ""}, {"node", "node", ""}, {"Value", "lost frames", "short"}},
				Queries:     []Query{query("", "topk(20, sum by (variant, node) (%s))", latest("csig_node_lost_frames_total"))}},
		},
	}
}

func compare() Board {
	both := func(legend, expr string, each bool) []Query {
		return []Query{
			{Expr: of(own, expr), Legend: "1: " + legend, Windows: each},
			{Expr: of(other, expr), Legend: "2: " + legend, Windows: each},
		}
	}
	info := "max by (run, variant, cc, lb, aqm, csig, runtime, clock) (" + latest("csig_run_info") + ")"
	runBy := append([]Column{{"run", "run", ""}}, ranBy...)
	rated := latest("csig_run_metric", `better!=""`)
	received := "8 * " + perSecond("variant", "csig_flow_receive_bytes_total{}")
	const by = "metric, subject, unit, better"
	one, two := of(own, "max by ("+by+") ("+rated+")"), of(other, "max by ("+by+") ("+rated+")")
	// of the metrics of which more, or less, is better
	of2 := func(labels, word string) string {
		return of(labels, "max by ("+by+") ("+latest("csig_run_metric", `better="`+word+`"`)+")")
	}
	size := fmt.Sprintf("abs(%s - %s) / ((%[1]s >= %[2]s or %[2]s) > 0)", two, one) // from 0 to 1, also where one of them is 0
	verdict := fmt.Sprintf("sgn(%s - %s) or sgn(%s - %s)", of2(other, "higher"), of2(own, "higher"), of2(own, "lower"), of2(other, "lower"))
	return Board{
		UID: "csiglab-compare", Title: "csiglab: compare two runs", Compare: true, Counts: true, Description: "The same numbers of two runs, or of two variants of one run, side by side.",
		Panels: []Panel{
			text(4, "Run 1 is what the variables on the left choose, run 2 what *Other run* and those after it choose: by themselves the last variant of the same run, or of another one if you choose it. Lines of both begin at the same moment if both have one *time stretch*; else serve both with one --stretch. Lines of run 1 are blue, of the tiers above it turquoise and purple; those of run 2 are dashed, and orange, red and yellow. "+axis),
			{Kind: Table, Title: "Run 1", Width: 12, Height: 4, Description: "The run, and the variant's " + ran + ".", Columns: runBy, Queries: []Query{query("", "%s", info)}},
			{Kind: Table, Title: "Run 2", Width: 12, Height: 4, Description: "The run, and the variant's " + ran + ".", Columns: runBy, Queries: []Query{{Expr: of(other, info)}}},
			{Kind: Table, Title: "Differences, whole run", Width: 24, Height: 14, Order: "Value #E", Empty: []Reason{NoLab},
				Description: "The metrics of both runs of which less or more is better, in the unit of summary.json, the greatest differences first. The change is that from run 1 to run 2, as a share of run 1: a value that doubles changes by 100 %, and one of 0 has no share. One seed of each says nothing of chance: csiglab compare has intervals.",
				Columns: []Column{{"metric", "metric", ""}, {"subject", "of", ""}, {"unit", "unit", ""}, {"better", "better is", ""}, {"Value #A", "run 1", "short"}, {"Value #B", "run 2", "short"},
					{"Value #C", "change", "percentunit"}, {"Value #D", "run 2 is", ""}},
				Looks:   []Look{{Column: "run 2 is", Values: []Mapping{{"-1", "worse", "red"}, {"0", "equal", "text"}, {"1", "better", "green"}}}},
				Queries: []Query{{Expr: one}, {Expr: two}, {Expr: fmt.Sprintf("%s / (%s != 0) - 1", two, one)}, {Expr: verdict}, {Expr: size}}},
			{Kind: Table, Title: "Mean time of a step, time shown", Width: 8, Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job that ended in the time shown, in the model's time.",
				Columns:     []Column{{"job", "job", ""}, {"Value #A", "run 1", "s"}, {"Value #B", "run 2", "s"}},
				Queries:     both("", mean("job", "csig_job_iteration_seconds"), false)},
			{Kind: Table, Title: "Bottlenecks that CSIG samples name, time shown", Width: 16, Empty: []Reason{NoSignals}, Sort: "share in run 1",
				Description: "Share of the samples of the time shown that name the port as their bottleneck; the eight most frequent ones of each run. " + locators,
				Columns:     []Column{{"bottleneck", "bottleneck", ""}, {"Value #A", "share in run 1", "percentunit"}, {"Value #B", "share in run 2", "percentunit"}},
				Looks:       []Look{{Column: "share in run 1", Bar: true}, {Column: "share in run 2", Bar: true}},
				Queries: both("", spelt(`topk(8, sum by (bottleneck, tier) (`+total("csig_signal_samples_total", `bottleneck!=""`)+
					`) / on () group_left () sum (`+total("csig_signal_samples_total", `bottleneck!=""`)+`))`), false)},
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps", Empty: []Reason{NoFlow},
				Description: "Payload that all receivers got.",
				Queries: []Query{
					{Counts: true, Legend: "1: {{variant}}", Expr: of(own, received)},
					{Counts: true, Legend: "2: {{variant}}", Expr: of(other, strings.ReplaceAll(received, "$stretch", "$other_stretch"))},
				}},
			{Kind: Timeseries, Title: "Busiest port of each tier", Colours: tierColours, Width: 12, Unit: "percentunit", Max: 1,
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_utilisation_ratio{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Deepest queue of each tier", Colours: tierColours, Width: 12, Unit: "decbytes",
				Description: "Greatest depth of a data queue of a switch in the latest telemetry window.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_queue_peak_bytes{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s", Empty: []Reason{NoFlow},
				Description: "Greatest mean delay of a flow, or of a job, in the latest telemetry window, in the model's time.",
				Queries:     both("{{variant}}", "max by (variant) (csig_flow_delay_seconds{})", true)},
		},
	}
}
