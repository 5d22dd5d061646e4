package dashboards

import (
	"fmt"
	"strings"
)

func flows() Board {
	const by, legend, one = "variant, job, flow", "{{variant}} {{job}} {{flow}}", `job=~"$job"`
	return Board{
		UID: "csiglab-flows", Title: "csiglab: flows and congestion control", Description: "What flows got, what their congestion control did, and what CSIG told it.", Counts: true,
		Choices: []Choice{{"job", "csig_flow_receive_bytes_total", "job", false}, {"bottleneck", "csig_signal_samples_total", "bottleneck", false}},
		Panels: []Panel{
			text(4, axis+" A run with more than 16 flows has lines by job, not by flow; a job's window is the sum over its flows."),
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps",
				Description: "Payload that the receiver got, without duplicates.",
				Queries:     []Query{{Counts: true, Legend: legend, Expr: of(own, "8 * "+perSecond(by, "csig_flow_receive_bytes_total{"+one+"}"))}}},
			{Kind: Timeseries, Title: "Congestion window", Width: 12, Unit: "decbytes", Empty: []Reason{NoWindow},
				Description: "The window after the latest ACK.",
				Queries:     []Query{windows(legend, "sum by (%s) (csig_flow_cwnd_bytes{%s})", by, one)}},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s",
				Description: "Mean over the ACKs of the latest telemetry window with any, in the model's time.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_flow_delay_seconds{%s})", by, one)}},
			{Kind: Timeseries, Title: "ACKs by action of $variant", Width: 12, Unit: "cps", Stack: true, Repeat: "variant", Empty: []Reason{NoActions},
				Description: "ACKs per second, by the action that the congestion control answered with: which of its rules is at work.",
				Queries:     []Query{rates("{{action}}", "variant, action", "csig_cc_actions_total{"+one+"}", "")}},
			row("Completion and losses"),
			{Kind: Table, Title: "Flows", Width: 12, Sort: "received", Description: "What each flow did in the time that is shown.",
				Columns: []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "received", "decbytes"}, {"Value #B", "ACKs", "short"}},
				Links:   []Link{{"job", "Steps of this job", "/d/csiglab-training?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-job=${__value.text}&${__url_time_range}"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_receive_bytes_total", one)),
					query("", "sum by (%s) (%s)", by, total("csig_flow_acks_total", one)),
				}},
			{Kind: Table, Title: "Packets sent again", Width: 12, Empty: []Reason{NoLab}, Sort: "sent again",
				Description: "Packets that were sent again, and timeouts of senders, of the flows that ended in the time that is shown.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "sent again", "short"}, {"Value #B", "timeouts", "short"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_retransmitted_packets_total", one)),
					query("", "sum by (%s) (%s)", by, total("csig_flow_timeouts_total", one)),
				}},
			{Kind: BarGauge, Title: "Completion times", Width: 8, Unit: "s", Empty: []Reason{NoLab, NoTransfer},
				Description: "Completion times of the flows of the whole run, in the model's time: the median, the time that 99 of 100 stayed below, and the greatest.",
				Queries:     statistics("1e-6", "fct_us", "p50", "p99", "max")},
			{Kind: BarGauge, Title: "Slowdown", Width: 8, Empty: []Reason{NoLab, NoTransfer}, Decimals: 3,
				Description: "Completion times of the flows of the whole run as multiples of those in an empty network: mean, and what 99 of 100 stayed below. 1 is the best.",
				Queries:     statistics("1", "slowdown", "mean", "p99")},
			{Kind: BarGauge, Title: "Packets sent again, and timeouts", Width: 8, Empty: []Reason{NoLab},
				Description: "Packets of the whole run that were sent again, and those given up for lost by a timeout.",
				Queries:     statistics("1", "packets", "retransmitted", "timeouts")},
			closed("CSIG"),
			{Kind: Timeseries, Title: "CSIG samples", Width: 12, Unit: "cps", Empty: []Reason{NoSignals},
				Description: "Samples per second that came back to senders, by signal.",
				Queries:     []Query{rates("{{variant}} {{signal}}", "variant, signal", "csig_signal_samples_total{"+one+"}", "")}},
			{Kind: Table, Title: "Flows whose samples name a port", Width: 12, Sort: "samples", Empty: []Reason{NoSignals},
				Description: "The flows, or jobs, with most samples that name one of the chosen bottlenecks, in the time that is shown.",
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

// statistics are queries of statistics of a metric over the whole run.
func statistics(scale, name string, statistics ...string) (list []Query) {
	for _, s := range statistics {
		list = append(list, query("{{variant}} "+s, "max by (variant) (%s)", metric(scale, name+"."+s, `subject=""`)))
	}
	return list
}

func paths() Board {
	const group = "variant, tier, direction"
	share := func(reduce string) Query {
		return windows("{{variant}} "+reduce, `%s by (variant) (csig_port_utilisation_ratio{tier=~"$tier",direction="up"})`, reduce)
	}
	up := `tier!="host",direction="up"`
	const racks, sampled = "source, destination", `run="$run",variant=~"$sampled",seed="$seed",stretch="$stretch"`
	// over is the mean of the values of samples between racks.
	over := func(signal string) string {
		return fmt.Sprintf("sum by (%s) (%s) / sum by (%[1]s) (%[3]s)", racks, total("csig_path_values_total", `signal="`+signal+`"`), total("csig_path_samples_total", `signal="`+signal+`"`))
	}
	pairs := func(kind string) Panel {
		return Panel{Kind: Table, Width: 8, Height: 8, Repeat: "sampled", Matrix: [3]string{"source", "destination", "Value"}, Title: kind}
	}
	available, delay, named := pairs("Mean available bandwidth between racks, $sampled"), pairs("Mean delay of the worst hop between racks, $sampled"), pairs("Bottleneck between racks, $sampled")
	available.Unit, available.Steps, available.Empty = "percentunit", []Step{{0, "transparent"}, {0, "red"}, {0.1, "orange"}, {0.25, "yellow"}, {0.5, "green"}}, []Reason{NoRoom}
	available.Description = "What CSIG samples of the traffic from the rack on the left to the one at the top said on average in the time that is shown: the bandwidth left at the bottleneck, as a share of the fastest line's rate. Red is congested. Samples may be of abw or of abw-c."
	available.Queries = []Query{{Expr: of(sampled, over("abw")+" / scalar(max("+latest("csig_port_rate_bytes_per_second")+")) or "+over("abw-c"))}}
	delay.Unit, delay.Steps, delay.Empty = "s", []Step{{0, "transparent"}, {0, "green"}, {5e-6, "yellow"}, {10e-6, "orange"}, {20e-6, "red"}}, []Reason{NoDelay}
	delay.Description = "What CSIG samples of the traffic from the rack on the left to the one at the top said on average in the time that is shown: the delay of the worst hop, in the model's time. Red is 20 us and more."
	delay.Queries = []Query{{Expr: of(sampled, over("delay"))}}
	named.Matrix[2], named.Empty = "bottleneck", []Reason{NoSignals}
	named.Description = "The port that most CSIG samples of the traffic from the rack on the left to the one at the top named in the time that is shown."
	named.Queries = []Query{{Expr: of(sampled, fmt.Sprintf("topk by (%s) (1, sum by (%[1]s, bottleneck) (%s))", racks, total("csig_path_samples_total", `bottleneck!=""`)))}}
	return Board{
		UID: "csiglab-paths", Title: "csiglab: load balancing and paths", Description: "How evenly the paths of the fabric are used, and which ports CSIG names as bottlenecks.", Counts: true,
		Choices: []Choice{tiers, {"sampled", "csig_path_samples_total", "variant", false}},
		Panels: []Panel{
			text(4, axis+" Ports that lead up, away from the hosts, are those among which load balancing chooses."),
			row("Map of the fabric, as CSIG sees it: available bandwidth"),
			available, row("Map of delays"), delay, row("Map of bottlenecks"), named,
			row("Balance"),
			{Kind: Timeseries, Title: "Spread of utilisation, upwards in tier $tier", Width: 12, Unit: "percentunit", Max: 1, Repeat: "tier",
				Description: "Greatest, mean and least utilisation of the ports of the tier that lead up, in the latest telemetry window. Lines far apart mean that some ports are full while others are free.",
				Queries:     []Query{share("max"), share("avg"), share("min")}},
			{Kind: BarGauge, Title: "Greatest over mean utilisation", Width: 12, Decimals: 2,
				Description: "Utilisation of the busiest port of a tier, as a multiple of the tier's mean, in the time that is shown. 1 is an even load.",
				Queries: []Query{query("{{variant}} {{tier}} {{direction}}", "max by (%s) (%s) / avg by (%[1]s) (%[2]s)", group,
					mean(byPort, "csig_port_window_utilisation_ratio", `tier!="host"`))}},
			{Kind: Signature, Title: "Ports that lead up, by utilisation", Width: 24, Height: 10, Unit: "percentunit", Max: 1,
				Description: "The 40 busiest ports that lead away from the hosts, one in each row, and the share of each telemetry window in which the line was busy. Red is busy. Even shades in a column mean an even load.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(40, "csig_port_utilisation_ratio{"+up+"}"))}},
			row("Bottlenecks"),
			{Kind: Timeseries, Title: "Bottlenecks that CSIG samples of $sampled name", Width: 12, Unit: "cps", Stack: true, Repeat: "sampled", Empty: []Reason{NoSignals},
				Description: "Samples per second by the port that their locator stands for, of the eight ports that are named most often.",
				Queries: []Query{{Counts: true, Legend: "{{bottleneck}}", Expr: of(sampled, perSecond("variant, bottleneck", `csig_signal_samples_total{bottleneck!=""}`)+
					` and on (variant, bottleneck) topk(8, sum by (variant, bottleneck) (last_over_time(csig_signal_samples_total{bottleneck!=""}[`+shown+`] @ end())))`)}}},
			{Kind: BarGauge, Title: "Share of each bottleneck", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoSignals},
				Description: "Share of the samples that name the port, in the time that is shown; the ten most frequent ones of those that name any.",
				Queries: []Query{query("{{variant}} {{bottleneck}}", "topk(10, sum by (variant, bottleneck) (%s) / on (variant) group_left () sum by (variant) (%[1]s))",
					total("csig_signal_samples_total", `bottleneck!=""`))}},
			{Kind: Table, Title: "Bottlenecks by job", Width: 12, Empty: []Reason{NoSignals}, Sort: "samples",
				Description: "How many samples of each job name which port, in the time that is shown.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"signal", "signal", ""}, {"bottleneck", "bottleneck", ""}, {"tier", "tier", ""}, {"Value", "samples", "short"}},
				Links:       []Link{{"job", "Steps of this job", "/d/csiglab-training?${datasource:queryparam}&${run:queryparam}&${seed:queryparam}&${stretch:queryparam}&var-job=${__value.text}&${__url_time_range}"}},
				Queries:     []Query{query("", "topk(50, sum by (variant, job, signal, bottleneck, tier) (%s))", total("csig_signal_samples_total", `bottleneck!=""`))}},
			{Kind: BarGauge, Title: "Packets trimmed or dropped by port", Width: 12,
				Description: "The ten ports that trimmed or dropped most packets in the time that is shown.",
				Queries: []Query{query("{{variant}} {{port}}", "topk(10, sum by (variant, port) (%s) + sum by (variant, port) (%s))",
					total("csig_port_trimmed_packets_total"), total("csig_port_dropped_packets_total"))}},
		},
	}
}

func fidelity() Board {
	return Board{
		UID: "csiglab-fidelity", Title: "csiglab: fidelity", Description: "Whether the machine kept up with the run, so that its numbers can be trusted.",
		Panels: []Panel{
			text(3, "In real time a node that gets the processor too late distorts what it measures. Virtual time and lockstep have no such errors: their runs have no lateness and lose no frames."),
			{Kind: Stat, Title: "Verdict", Width: 12, Height: 4, Values: valid, Empty: []Reason{NoLab},
				Description: "Whether csiglab found the run valid.",
				Queries:     []Query{query("{{variant}}", "min by (variant) (%s)", latest("csig_run_valid"))}},
			{Kind: Stat, Title: "Lost records", Width: 12, Height: 4, Steps: noneIsOK,
				Description: "Records that found no room in a bounded buffer.",
				Queries:     []Query{query("{{variant}}", "sum by (variant) (%s)", latest("csig_run_dropped_records_total"))}},
			ran(24),
			closed("Runs in real time"),
			{Kind: Stat, Title: "Dilation", Width: 8, Height: 4, Empty: []Reason{NoVirtual},
				Description: "Wall seconds per second of the model.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (%s)", latest("csig_run_dilation_ratio"))}},
			{Kind: Stat, Title: "Greatest lateness", Width: 8, Height: 4, Unit: "s", Empty: []Reason{NoVirtual},
				Description: "Greatest wall time by which a node was late for an event.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (%s)", latest("csig_node_lateness_seconds"))}},
			{Kind: Stat, Title: "Lateness over the shortest delay", Width: 8, Height: 4, Unit: "percentunit", Steps: []Step{{0, "green"}, {0.5, "yellow"}, {1, "red"}}, Empty: []Reason{NoVirtual},
				Description: "Greatest lateness as a share of the smallest delay that matters, of the shortest link or a full packet on the fastest one, times the dilation. From 100 % on an event was late by a whole hop.",
				Queries: []Query{query("{{variant}}", "max by (variant) (%s) / max by (variant) (%s * %s)", latest("csig_node_lateness_seconds"),
					latest("csig_run_smallest_delay_seconds"), latest("csig_run_dilation_ratio"))}},
			{Kind: BarGauge, Title: "Lateness by node", Width: 12, Unit: "s", Empty: []Reason{NoVirtual},
				Description: "Greatest wall time by which each node was late for an event, of the 20 latest nodes.",
				Queries:     []Query{query("{{variant}} {{node}}", "topk(20, max by (variant, node) (%s))", latest("csig_node_lateness_seconds"))}},
			{Kind: BarGauge, Title: "Lost frames by node", Width: 12, Empty: []Reason{NoVirtual, NoLab},
				Description: "Frames that were sent to the node over links and that it did not receive, of the 20 nodes with most of them.",
				Queries:     []Query{query("{{variant}} {{node}}", "topk(20, sum by (variant, node) (%s))", latest("csig_node_lost_frames_total"))}},
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
	rated := latest("csig_run_metric", `better!=""`)
	received := "8 * " + perSecond("variant", "csig_flow_receive_bytes_total{}")
	const by = "metric, subject, unit, better"
	one, two := of(own, "max by ("+by+") ("+rated+")"), of(other, "max by ("+by+") ("+rated+")")
	// gain is by how much run 2 is better, as a share of run 1.
	gain := func(better, more, less string) string {
		of := func(labels string) string {
			return of(labels, "max by ("+by+") ("+latest("csig_run_metric", `better="`+better+`"`)+")")
		}
		return fmt.Sprintf("(%s - %s) / (%s > 0)", of(more), of(less), of(own))
	}
	return Board{
		UID: "csiglab-compare", Title: "csiglab: compare two runs", Compare: true, Counts: true, Description: "The same numbers of two runs, or of two variants of one run, side by side.",
		Panels: []Panel{
			text(4, "Run 1 is what the variables on the left choose, run 2 what *Other run* and those after it choose: another run folder, another variant or another seed. The lines of run 2 are dashed. "+axis),
			{Kind: Table, Title: "Run 1", Width: 12, Height: 5, Description: "The run, and the algorithms of the variant.", Columns: ran(12).Columns, Queries: ran(12).Queries},
			{Kind: Table, Title: "Run 2", Width: 12, Height: 5, Description: "The other run, and the algorithms of the variant.", Columns: ran(12).Columns,
				Queries: []Query{{Expr: of(other, "max by (run, experiment, variant, seed, runtime, clock, cc, lb, aqm, csig, stretch) ("+latest("csig_run_info")+")")}}},
			{Kind: Table, Title: "Differences", Width: 24, Height: 12, Sort: "gain of run 2", Empty: []Reason{NoLab},
				Description: "The metrics of both runs of which less or more is better, in the unit of summary.json, and what run 2 gains: green is better than run 1, red worse. One seed of each says nothing of chance: csiglab compare has intervals.",
				Columns:     []Column{{"metric", "metric", ""}, {"subject", "of", ""}, {"unit", "unit", ""}, {"better", "better", ""}, {"Value #A", "run 1", "short"}, {"Value #B", "run 2", "short"}, {"Value #C", "gain of run 2", "percentunit"}},
				Gains:       "gain of run 2",
				Queries:     []Query{{Expr: one}, {Expr: two}, {Expr: gain("higher", other, own) + " or " + gain("lower", own, other)}}},
			{Kind: BarGauge, Title: "Mean time of a step", Width: 8, Unit: "s", Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job that ended in the time that is shown, in the model's time.",
				Queries:     both("{{variant}} {{job}}", mean("variant, job", "csig_job_iteration_seconds"), false)},
			{Kind: BarGauge, Title: "Completion times, 99th percentile", Width: 8, Unit: "s", Empty: []Reason{NoLab, NoTransfer},
				Description: "The time in which 99 of 100 flows of the whole run were complete, in the model's time.",
				Queries:     both("{{variant}}", "max by (variant) ("+metric("1e-6", "fct_us.p99", `subject=""`)+")", false)},
			{Kind: BarGauge, Title: "Queues, 99th percentile", Width: 8, Unit: "decbytes", Empty: []Reason{NoLab},
				Description: "The depth that the data queues of a class of switch ports exceeded in 1 % of the whole run.",
				Queries:     both("{{variant}} {{subject}}", "max by (variant, subject) ("+metric("1000", "queue_kb.p99", `subject!="host"`)+")", false)},
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "bps",
				Description: "Payload that all receivers got.",
				Queries: []Query{
					{Counts: true, Legend: "1: {{variant}}", Expr: of(own, received)},
					{Counts: true, Legend: "2: {{variant}}", Expr: of(other, strings.ReplaceAll(received, "$stretch", "$other_stretch"))},
				}},
			{Kind: Timeseries, Title: "Busiest port of each tier", Width: 12, Unit: "percentunit", Max: 1,
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_utilisation_ratio{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Deepest queue of each tier", Width: 12, Unit: "decbytes",
				Description: "Greatest depth of a data queue of a switch in the latest telemetry window.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_queue_peak_bytes{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s",
				Description: "Greatest mean delay of a flow, or of a job, in the latest telemetry window, in the model's time.",
				Queries:     both("{{variant}}", "max by (variant) (csig_flow_delay_seconds{})", true)},
			{Kind: BarGauge, Title: "Bottlenecks that CSIG samples name", Width: 24, Unit: "percentunit", Max: 1, Empty: []Reason{NoSignals},
				Description: "Share of the samples of the time that is shown that name the port as their bottleneck; the eight most frequent ones of each run.",
				Queries: both("{{variant}} {{bottleneck}}", `topk(8, sum by (variant, bottleneck) (`+total("csig_signal_samples_total", `bottleneck!=""`)+
					`) / on (variant) group_left () sum by (variant) (`+total("csig_signal_samples_total", `bottleneck!=""`)+`))`, false)},
		},
	}
}
