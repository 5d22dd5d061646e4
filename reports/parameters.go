package reports

import (
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/units"
)

// parameterGroup is variants with the same parameters.
type parameterGroup struct {
	variants []string
	*runfolder.Parameters
}

// parameterGroups groups the variants whose values are equal; value returns the part that
// is compared. Variants without parameters, of older folders, are in no group.
func parameterGroups(all []analysis.Variant, value func(*runfolder.Parameters) any) []parameterGroup {
	var groups []parameterGroup
	for i := range all {
		p := all[i].Parameters
		if p == nil {
			continue
		}
		at := slices.IndexFunc(groups, func(g parameterGroup) bool { return reflect.DeepEqual(value(g.Parameters), value(p)) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, parameterGroup{Parameters: p})
		}
		groups[at].variants = append(groups[at].variants, all[i].Name)
	}
	return groups
}

// portParameters lists the classes of ports, and what the hosts of no limit lack as none.
func portParameters(all []analysis.Variant) table {
	groups := parameterGroups(all, func(p *runfolder.Parameters) any { return p.Ports })
	t := table{
		Columns: []column{{Name: "Ports of"}, {Name: "towards"}, {Name: "Ports", Number: true}, {Name: "Rate", Number: true}, {Name: "BDP", Number: true},
			{Name: "Data queue", Number: true}, {Name: "Control queue", Number: true}, {Name: "ECN low", Number: true}, {Name: "ECN high", Number: true}, {Name: "AQM"}},
		Note: "BDP is the rate times the network RTT, in whole packets. The queues of hosts have no limit. ECN low and high are links.ecn; an AQM policy may have thresholds of its own.",
	}
	if len(groups) > 1 {
		t.Columns = slices.Insert(t.Columns, 0, column{Name: "Variants"})
	}
	for _, g := range groups {
		for _, c := range g.Ports {
			row := []cell{{Text: c.Tier}, {Text: c.PeerTier}, {Text: fmt.Sprint(c.Ports)}, {Text: rateText(c.RateBPS)}, {Text: sizeText(c.BDPBytes)},
				{Text: sizeText(c.QueueBytes)}, {Text: sizeText(c.ControlQueueBytes)}, {Text: sizeText(c.ECNLowBytes)}, {Text: sizeText(c.ECNHighBytes)}, {Text: algorithmText(c.AQM, c.AQMParameters)}}
			if len(groups) > 1 {
				row = slices.Insert(row, 0, cell{Text: list(g.variants)})
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// flowParameters has a column for each class of flows, and a row for each value.
func flowParameters(all []analysis.Variant) table {
	groups := parameterGroups(all, func(p *runfolder.Parameters) any { return p.Flows })
	t := table{
		Columns: []column{{Name: "Flows"}},
		Note:    "RTTs are of a full packet and its ACK over idle links: the network RTT over the longest path, the base RTT over the flow's own.",
	}
	rows := map[string]int{}
	put := func(name, value string) {
		at, ok := rows[name]
		if !ok {
			at = len(t.Rows)
			rows[name] = at
			t.Rows = append(t.Rows, []cell{{Text: name}})
		}
		for len(t.Rows[at]) < len(t.Columns)-1 {
			t.Rows[at] = append(t.Rows[at], cell{Text: none})
		}
		t.Rows[at] = append(t.Rows[at], cell{Text: value})
	}
	for _, g := range groups {
		for i := range g.Flows {
			c := &g.Flows[i]
			name := c.First
			if c.Flows > 1 {
				name = fmt.Sprintf("%s and %d more", c.First, c.Flows-1)
			}
			if len(groups) > 1 {
				name = list(g.variants) + ": " + name
			}
			t.Columns = append(t.Columns, column{name, true})
			putClass(c, put)
		}
	}
	for i := range t.Rows {
		for len(t.Rows[i]) < len(t.Columns) {
			t.Rows[i] = append(t.Rows[i], cell{Text: none})
		}
	}
	return t
}

// putClass puts the values of a class.
func putClass(c *runfolder.FlowClass, put func(name, value string)) {
	put("sender's link", rateText(c.RateBPS))
	put("network RTT", microseconds(c.NetworkRTTUS))
	base := microseconds(c.BaseRTTUS)
	if c.BaseRTTMaxUS != c.BaseRTTUS {
		base += " … " + microseconds(c.BaseRTTMaxUS)
	}
	put("base RTT of the path", base)
	put("RTO", microseconds(c.RTOUS))
	put("full packet", sizeText(c.MTUBytes))
	put("payload of it (MSS)", sizeText(c.MSSBytes))
	put("header, ACK", sizeText(c.HeaderBytes))
	put("an ACK for every", sizeText(c.AckEveryBytes))
	put("first window", sizeText(c.WindowBytes))
	put("least window", sizeText(c.WindowMinBytes))
	put("largest window", sizeText(c.WindowMaxBytes))
	put("CC", c.CC)
	for _, name := range sortedKeys(c.CCParameters) {
		put("CC "+name, c.CCParameters[name])
	}
	put("LB", c.LB)
	for _, name := range sortedKeys(c.LBParameters) {
		put("LB "+name, c.LBParameters[name])
	}
}

// algorithmText prints an algorithm and its parameters.
func algorithmText(name string, params map[string]string) string {
	if name == "" {
		return none
	}
	var texts []string
	for _, p := range slices.Sorted(maps.Keys(params)) {
		texts = append(texts, p+" "+params[p])
	}
	if len(texts) == 0 {
		return name
	}
	return name + " (" + strings.Join(texts, ", ") + ")"
}

// sizeText prints bytes exactly; 0 is none.
func sizeText(bytes int64) string {
	if bytes == 0 {
		return none
	}
	return spaced(units.Size(bytes).String())
}

func rateText(bps int64) string {
	return strings.Replace(spaced(units.Rate(bps).String()), "bps", "b/s", 1)
}

// spaced separates a number from its unit.
func spaced(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	return text[:at] + "\u00a0" + text[at:]
}

// microseconds prints a time exactly, to the picosecond, in the unit that fits.
func microseconds(us float64) string {
	return strings.Replace(spaced(units.Duration(math.Round(us*1e6)).String()), "us", "µs", 1)
}

// WriteParameters writes the parameters of variants as aligned text.
func WriteParameters(w io.Writer, variants []analysis.Variant) error {
	ports, flows := portParameters(variants), flowParameters(variants)
	for _, t := range []*table{&ports, &flows} {
		if len(t.Rows) == 0 {
			continue
		}
		lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		var names []string
		for _, c := range t.Columns {
			names = append(names, c.Name)
		}
		fmt.Fprintf(lines, "\n%s\n", strings.Join(names, "\t"))
		for _, row := range t.Rows {
			var texts []string
			for _, c := range row {
				texts = append(texts, strings.ReplaceAll(c.Text, "\u00a0", " "))
			}
			fmt.Fprintln(lines, strings.Join(texts, "\t"))
		}
		if err := lines.Flush(); err != nil {
			return fmt.Errorf("write parameters: %w", err)
		}
	}
	return nil
}
