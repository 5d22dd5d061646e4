package reports

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Chart is a group of panels of the same scales with one legend.
type Chart struct {
	ID      string
	Title   string
	Caption string
	Legend  []Key
	Panels  []Panel
}

// Key is an entry of a legend: the style of a line, or of a bar's part.
type Key struct {
	Name  string
	Style int
	Bar   bool
}

// Panel is one drawing: lines over time, or stacked bars.
type Panel struct {
	Title    string
	Subtitle string
	XLabel   string
	YLabel   string
	XMax     float64
	YMax     float64

	Lines []Line
	Marks []Mark     // lines across at a value
	Shade [2]float64 // span of X, empty when both are equal

	Bars []Bar
}

// Line is a line of points; a NaN in Y is a gap.
type Line struct {
	Name  string
	Style int
	X, Y  []float64
}

// Mark is a value to compare lines with.
type Mark struct {
	Name string
	Y    float64
}

// Bar is a row of parts whose sum is 1.
type Bar struct {
	Name  string
	Parts []float64 // share by metrics.Action
}

// Styles of lines. Those from 0 to maxGroups-1 are of flows.
const (
	styleRest = maxGroups + iota // of flows drawn as their mean
	styleMean
	styleMax
)

// throughput draws what every receiver got over time.
func (d *data) throughput() Chart {
	c := Chart{ID: "throughput", Title: "Throughput of each flow",
		Caption: "Wire rate at the receiver, " + d.perPoint() + "."}
	for _, v := range d.manifest.Variants {
		sums := make([]map[int]float64, len(d.groups))
		for i := range d.flowRows {
			w := &d.flowRows[i]
			if w.Variant == v.Name && d.shown(w.Variant, w.Seed) {
				add(sums, d.group[w.FlowName], d.index(w.StartUS), float64(w.WireBytes))
			}
		}
		p := Panel{Title: v.Name}
		for g, sum := range sums {
			if sum == nil {
				continue
			}
			line := Line{Name: d.groups[g].name, Style: d.groups[g].style}
			for i := minKey(sum); i <= maxKey(sum); i++ {
				line.X = append(line.X, d.at(i))
				line.Y = append(line.Y, sum[i]*8/1000/d.bin/float64(d.groups[g].flows))
			}
			p.Lines = append(p.Lines, line)
		}
		c.add(p)
	}
	c.finish(d, "Throughput", scalesOfRates)
	return c
}

// queues draws the data queues of the ports that limit the flows.
func (d *data) queues(ports []bottleneck) Chart {
	c := Chart{ID: "queues", Title: "Queue depth of the busiest switch ports", Caption: "Data queue, mean and largest of every point, " + d.perPoint() + ". The figures beside the names are of the measured span; in brackets, the time that the link takes to drain."}
	if len(ports) > 0 && ports[0].full {
		c.Title = "Queue depth of the bottlenecks"
	}
	for _, port := range ports {
		for _, v := range d.manifest.Variants {
			means, peaks := map[int]float64{}, map[int]float64{}
			for i := range d.portRows {
				w := &d.portRows[i]
				if w.Variant == v.Name && d.shown(w.Variant, w.Seed) && w.Node == port.port.Node && w.Port == port.port.Port {
					k := d.index(w.StartUS)
					means[k] += float64(w.QueueByteNS) / (d.bin * 1000) / 1000
					peaks[k] = max(peaks[k], float64(w.QueueMax)/1000)
				}
			}
			use, ok := port.use[v.Name]
			if !ok {
				continue
			}
			p := Panel{
				Title:    port.name + ", " + v.Name,
				Subtitle: fmt.Sprintf("%s busy · mean %s · peak %s", percent(use.utilisation), depth(use.meanQueue, port.port.RateBPS), depth(use.peakQueue, port.port.RateBPS)),
			}
			mean, peak := Line{Name: "mean", Style: styleMean}, Line{Name: "largest", Style: styleMax}
			// A window without a record is one without a packet.
			for i := range d.index(d.ends[run{v.Name, d.seeds[v.Name]}]-d.bin/2) + 1 {
				mean.X, mean.Y = append(mean.X, d.at(i)), append(mean.Y, means[i])
				peak.X, peak.Y = append(peak.X, d.at(i)), append(peak.Y, peaks[i])
			}
			p.Lines = []Line{peak, mean}
			c.add(p)
		}
	}
	c.finish(d, "Queue", scalesOfSizes)
	c.Legend = []Key{{"mean", styleMean, false}, {"largest", styleMax, false}}
	return c
}

// delays draws the delay that controllers were fed, against their target.
func (d *data) delays() Chart {
	c := Chart{ID: "delays", Title: "Delay that each flow's congestion control saw",
		Caption: "Mean over the ACKs of a point, " + d.perPoint() + ". The level line is the target that CC steers to."}
	for _, v := range d.manifest.Variants {
		delays, acks := make([]map[int]float64, len(d.groups)), make([]map[int]float64, len(d.groups))
		for i := range d.ccRows {
			w := &d.ccRows[i]
			if w.Variant == v.Name && d.shown(w.Variant, w.Seed) && w.Acks > 0 {
				add(delays, d.group[w.FlowName], d.index(w.StartUS), w.DelaySumUS)
				add(acks, d.group[w.FlowName], d.index(w.StartUS), float64(w.Acks))
			}
		}
		p := Panel{Title: v.Name}
		for g := range delays {
			if delays[g] == nil {
				continue
			}
			line := Line{Name: d.groups[g].name, Style: d.groups[g].style}
			for i := minKey(delays[g]); i <= maxKey(delays[g]); i++ {
				line.X = append(line.X, d.at(i))
				y := math.NaN()
				if n := acks[g][i]; n > 0 {
					y = delays[g][i] / n
				}
				line.Y = append(line.Y, y)
			}
			p.Lines = append(p.Lines, line)
		}
		if v.TargetQDelayUS > 0 {
			p.Marks = []Mark{{"target", v.TargetQDelayUS}}
		}
		c.add(p)
	}
	c.finish(d, "Delay", scalesOfDelays)
	return c
}

// actionLabels are the names of metrics.Action in legends and in bars.
var actionLabels = [metrics.Actions]struct{ name, short string }{
	{"no-op", "no-op"}, {"proportional increase (PI)", "PI"}, {"fast increase", "fast"}, {"fair increase (FI)", "FI"},
	{"multiplicative decrease (MD)", "MD"}, {"quick adapt (QA)", "QA"},
}

// actions draws how often controllers did what while rates were measured.
func (d *data) actions() Chart {
	c := Chart{ID: "actions", Title: "What congestion control did", Caption: "Share of the ACKs, by the action taken, from " + measured(d.manifest) + "."}
	used := [metrics.Actions]bool{}
	for _, v := range d.manifest.Variants {
		counts := make([][metrics.Actions]int64, len(d.groups))
		from, to := d.measured(run{v.Name, d.seeds[v.Name]})
		for i := range d.ccRows {
			w := &d.ccRows[i]
			if w.Variant == v.Name && d.shown(w.Variant, w.Seed) && w.StartUS >= from && w.StartUS < to {
				for a, n := range w.Actions() {
					counts[d.group[w.FlowName]][a] += n
				}
			}
		}
		p := Panel{Title: v.Name, XLabel: "Share of ACKs (%)", XMax: 100}
		for g, n := range counts {
			total := int64(0)
			for _, k := range n {
				total += k
			}
			if total == 0 {
				continue
			}
			bar := Bar{Name: d.groups[g].name, Parts: make([]float64, metrics.Actions)}
			for a, k := range n {
				bar.Parts[a] = float64(k) / float64(total)
				used[a] = used[a] || k > 0
			}
			p.Bars = append(p.Bars, bar)
		}
		if len(p.Bars) > 0 {
			p.Subtitle = d.seedNote(v.Name)
			c.Panels = append(c.Panels, p)
		}
	}
	for a, label := range actionLabels {
		if used[a] {
			c.Legend = append(c.Legend, Key{label.name, a, true})
		}
	}
	return c
}

// scale is a unit that values are drawn in, of which factor are one of the unit
// that they are given in.
type scale struct {
	unit   string
	factor float64
}

// Scales by falling unit; values are given in that of factor 1.
var (
	scalesOfTimes  = []scale{{"s", 1e-3}, {"ms", 1}}
	scalesOfDelays = []scale{{"s", 1e-6}, {"ms", 1e-3}, {"µs", 1}}
	scalesOfRates  = []scale{{"Gb/s", 1}, {"Mb/s", 1e3}, {"kb/s", 1e6}}
	scalesOfSizes  = []scale{{"MB", 1e-3}, {"kB", 1}}
)

// scaleFor returns the greatest unit of which a value has at least one, or the
// least one.
func scaleFor(value float64, scales []scale) scale {
	for _, s := range scales {
		if value*s.factor >= 1 {
			return s
		}
	}
	return scales[len(scales)-1]
}

func (s scale) apply(values []float64) {
	for i := range values {
		values[i] *= s.factor
	}
}

// perPoint says how much time a point stands for.
func (d *data) perPoint() string {
	text := "in windows of " + number(d.bin) + " µs"
	if d.manifest.Measure.FromUS > 0 || d.manifest.Measure.ToUS > 0 {
		text += "; the shaded span is where rates are measured"
	}
	return text
}

// seedNote names the seed that is shown when there are several.
func (d *data) seedNote(variant string) string {
	n := len(d.summary.Variants[variant].Runs)
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("seed %d, of %d the nearest to the medians", d.seeds[variant], n)
}

// add appends a panel that has something to show.
func (c *Chart) add(p Panel) {
	if len(p.Lines) > 0 {
		c.Panels = append(c.Panels, p)
	}
}

// finish gives all panels of a quantity over time in ms the same scales, the
// measuring window and the seed, and the chart the legend of its flows.
func (c *Chart) finish(d *data, quantity string, scales []scale) {
	x, y := 0.0, 0.0
	seen := make([]bool, len(d.groups))
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			for i := range l.X {
				x = max(x, l.X[i]+d.bin/2000)
				if !math.IsNaN(l.Y[i]) {
					y = max(y, l.Y[i])
				}
			}
			for g := range d.groups {
				seen[g] = seen[g] || d.groups[g].style == l.Style
			}
		}
		for _, m := range p.Marks {
			y = max(y, m.Y)
		}
	}
	from, to := d.manifest.Measure.FromUS/1000, d.manifest.Measure.ToUS/1000
	if to == 0 && from > 0 {
		to = x
	}
	sx, sy := scaleFor(x, scalesOfTimes), scaleFor(y, scales)
	for i := range c.Panels {
		p := &c.Panels[i]
		p.XMax, p.YMax = x*sx.factor, y*sy.factor
		p.XLabel, p.YLabel = "Time ("+sx.unit+")", quantity+" ("+sy.unit+")"
		p.Shade = [2]float64{min(from, x) * sx.factor, min(to, x) * sx.factor}
		for _, l := range p.Lines {
			sx.apply(l.X)
			sy.apply(l.Y)
		}
		for j := range p.Marks {
			m := &p.Marks[j]
			m.Y *= sy.factor
			m.Name += " " + number(m.Y) + " " + sy.unit
		}
	}
	for i, v := range d.manifest.Variants {
		if i < len(c.Panels) && c.Panels[i].Title == v.Name {
			c.Panels[i].Subtitle = d.seedNote(v.Name)
		}
	}
	for g, ok := range seen {
		if ok {
			c.Legend = append(c.Legend, Key{d.groups[g].name, d.groups[g].style, false})
		}
	}
}

// depth prints a queue in bytes and as the time that the link takes for it. No
// line breaks between a number and its unit.
func depth(bytes float64, rate int64) string {
	text := number(math.Round(bytes/100)/10) + "\u00a0kB"
	if bytes >= 1e4 {
		text = number(math.Round(bytes/1000)) + "\u00a0kB"
	}
	if rate > 0 {
		text += " (" + number(math.Round(bytes*8e7/float64(rate))/10) + "\u00a0µs)"
	}
	return text
}

func percent(share float64) string { return number(math.Round(share*1000)/10) + " %" }

func add(sums []map[int]float64, group, index int, v float64) {
	if sums[group] == nil {
		sums[group] = map[int]float64{}
	}
	sums[group][index] += v
}

func minKey(m map[int]float64) int {
	low := math.MaxInt
	for k := range m {
		low = min(low, k)
	}
	return low
}

func maxKey(m map[int]float64) int {
	high := math.MinInt
	for k := range m {
		high = max(high, k)
	}
	return high
}

// bottleneck is a switch port that is drawn, with its use in every variant.
type bottleneck struct {
	port runfolder.Port
	name string
	full bool // used over 90 % in a variant
	use  map[string]portUse
}

// portUse is how a port was used while measured.
type portUse struct {
	utilisation          float64
	meanQueue, peakQueue float64 // bytes
}
