package control

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
	"github.com/csiglab/csiglab/units"
)

// parameterGroup is variants with the same parameters.
type parameterGroup struct {
	variants []string
	*runfolder.Parameters
}

// parameterGroups groups the variants whose values are equal; value returns the part that
// is compared. Variants without parameters, of older folders, are in no group.
func parameterGroups(all []reading.Variant, value func(*runfolder.Parameters) any) []parameterGroup {
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
func portParameters(all []reading.Variant) *section.Table {
	groups := parameterGroups(all, func(p *runfolder.Parameters) any { return p.Ports })
	t := &section.Table{Label: "By class of ports",
		Columns: phrases.Columns("Ports of", "towards", "#Ports", "#Rate", "#BDP", "#Data queue", "#Control queue", "#ECN low", "#ECN high", "AQM"),
		Note:    "BDP is the rate times the network RTT, in whole packets. The queues of hosts have no limit. ECN low and high are links.ecn; an AQM policy may have thresholds of its own.",
	}
	if len(groups) > 1 {
		t.Columns = slices.Insert(t.Columns, 0, section.Column{Name: "Variants"})
	}
	for _, g := range groups {
		for _, c := range g.Ports {
			row := phrases.Cells(c.Tier, c.PeerTier, fmt.Sprint(c.Ports), words.Rate(c.RateBPS), sizeText(c.BDPBytes),
				sizeText(c.QueueBytes), sizeText(c.ControlQueueBytes), sizeText(c.ECNLowBytes), sizeText(c.ECNHighBytes), algorithmText(c.AQM, c.AQMParameters))
			if len(groups) > 1 {
				row = slices.Insert(row, 0, section.Cell{Text: words.List(g.variants)})
			}
			t.Rows = append(t.Rows, section.Row{Cells: row})
		}
	}
	return t
}

// flowParameters has a column for each class of flows, and a row for each value.
func flowParameters(all []reading.Variant) *section.Table {
	groups := parameterGroups(all, func(p *runfolder.Parameters) any { return p.Flows })
	t := &section.Table{Label: "By class of flows", Columns: phrases.Columns("Flows"),
		Note: "RTTs are of a full packet and its ACK over idle links: the network RTT over the longest path, the base RTT over the flow's own.",
	}
	rows := map[string]int{}
	put := func(name, value string) {
		at, ok := rows[name]
		if !ok {
			at = len(t.Rows)
			rows[name] = at
			t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(name)})
		}
		row := &t.Rows[at]
		row.Cells = append(filled(row.Cells, len(t.Columns)-1), section.Cell{Text: value})
	}
	for _, g := range groups {
		for i := range g.Flows {
			c := &g.Flows[i]
			name := c.First
			if c.Flows > 1 {
				name = fmt.Sprintf("%s and %d more", c.First, c.Flows-1)
			}
			if len(groups) > 1 {
				name = words.List(g.variants) + ": " + name
			}
			t.Columns = append(t.Columns, section.Column{Name: name, Number: true})
			putClass(c, put)
		}
	}
	for i := range t.Rows {
		t.Rows[i].Cells = filled(t.Rows[i].Cells, len(t.Columns))
	}
	return t
}

// filled adds cells of no value up to a number of cells.
func filled(cells []section.Cell, n int) []section.Cell {
	for len(cells) < n {
		cells = append(cells, section.Cell{Text: words.None})
	}
	return cells
}

// putClass puts the values of a class.
func putClass(c *runfolder.FlowClass, put func(name, value string)) {
	put("sender's link", words.Rate(c.RateBPS))
	put("network RTT", words.Exactly(c.NetworkRTTUS))
	base := words.Exactly(c.BaseRTTUS)
	if c.BaseRTTMaxUS != c.BaseRTTUS {
		base += " … " + words.Exactly(c.BaseRTTMaxUS)
	}
	put("base RTT of the path", base)
	put("RTO", words.Exactly(c.RTOUS))
	put("full packet", sizeText(c.MTUBytes))
	put("payload of it (MSS)", sizeText(c.MSSBytes))
	put("header, ACK", sizeText(c.HeaderBytes))
	put("an ACK for every", sizeText(c.AckEveryBytes))
	put("first window", sizeText(c.WindowBytes))
	put("least window", sizeText(c.WindowMinBytes))
	put("largest window", sizeText(c.WindowMaxBytes))
	put("CC", c.CC)
	for _, name := range words.SortedKeys(c.CCParameters) {
		put("CC "+name, c.CCParameters[name])
	}
	put("LB", c.LB)
	for _, name := range words.SortedKeys(c.LBParameters) {
		put("LB "+name, c.LBParameters[name])
	}
}

// algorithmText prints an algorithm and its parameters.
func algorithmText(name string, params map[string]string) string {
	if name == "" {
		return words.None
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
		return words.None
	}
	return words.Spaced(units.Size(bytes).String())
}

// WriteParameters writes the parameters of variants as aligned text.
func WriteParameters(w io.Writer, variants []reading.Variant) error {
	ports, flows := portParameters(variants), flowParameters(variants)
	for _, t := range []*section.Table{ports, flows} {
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
			for _, c := range row.Cells {
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
