package top

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Size bounds a table. The zero value does not bound it.
type Size struct {
	Width int // columns; 0: no bound
	Rows  int // lines; 0: no bound
}

// Shares of the lines below the heading that the ports and the places may take.
const (
	portShare  = 2 // a half
	placeShare = 4 // a quarter
)

// Table returns the lines of the table, without line ends. lab names the lab. Text that
// comes from the lab has no control characters in it.
func (v *View) Table(lab string, size Size) []string {
	lines := v.heading(lab)
	ports, places, flows := len(v.Ports), len(v.Places), len(v.Flows)
	if size.Rows > 0 {
		left := max(0, size.Rows-len(lines)-6) // a title and an empty line each
		places = min(places, max(left/placeShare, left-ports-flows))
		ports = min(ports, max(left/portShare, left-places-flows))
		flows = min(flows, left-places-ports)
	}
	at, flow := v.columns(size.Width)
	lines = append(lines, fmt.Sprintf("%-*s %-5s %-4s %6s %6s %6s %9s %6s %5s", at.width, "PORT", "TIER", "DIR", "RATE", "BUSY", "PEAK≤", "QUEUE≤", "MARKED", "LOST"))
	for _, p := range v.Ports[:ports] {
		lines = append(lines, fmt.Sprintf("%s %s %s %6s %6s %6s %9s %6s %5s", at.cell(p.Name), cell(p.Tier, 5), cell(p.Direction, 4),
			number(p.Rate, ""), share(p.Busy), share(p.Peak), number(p.Queue, "B"), number(p.Marked, ""), number(p.Lost, "")))
	}
	lines = append(lines, more(len(v.Ports)-ports, "port"), fmt.Sprintf("%-*s %-5s %-8s %9s %9s %6s", at.width, "NAMED BY CSIG SAMPLES", "TIER", "SIGNAL", "SHARE", "SAMPLES", "BUSY"))
	if len(v.Places) == 0 {
		lines = append(lines, "no CSIG samples")
	}
	for _, p := range v.Places[:places] {
		since := ""
		if p.Since {
			since = "  since the lab began"
		}
		busy := "-"
		if !math.IsNaN(p.Busy) {
			busy = share(p.Busy)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %9s %9s %6s%s", at.cell(p.place()), cell(p.Tier, 5), cell(p.Signal, 8), share(p.Share), number(p.Samples, ""), busy, since))
	}
	lines = append(lines, more(len(v.Places)-places, "place"), fmt.Sprintf("%-*s %9s %9s %9s %9s", flow.width, "FLOW", "RATE", "CWND", "DELAY", "ACKS"))
	for _, f := range v.Flows[:flows] {
		delay := "-"
		if !math.IsNaN(f.Delay) {
			delay = number(f.Delay, "s")
		}
		lines = append(lines, fmt.Sprintf("%s %9s %9s %9s %9s", flow.cell(f.title()), number(f.Rate, "b/s"), number(f.Cwnd, "B"), delay, number(f.Acks, "")))
	}
	if rest := more(len(v.Flows)-flows, "flow"); rest != "" {
		lines = append(lines, rest)
	}
	for i, line := range lines {
		if size.Width > 0 && utf8.RuneCountInString(line) > size.Width {
			lines[i] = string([]rune(line)[:size.Width])
		}
	}
	if size.Rows > 0 && len(lines) > size.Rows {
		lines = lines[:size.Rows]
	}
	return lines
}

// Columns beside the names of ports and of flows, and those of the names at least.
const (
	besidePort, leastPort = 55, 24
	besideFlow, leastFlow = 40, 32
)

// columns returns the columns of ports and of flows in a table of a width; 0: no bound.
func (v *View) columns(width int) (ports, flows column) {
	var at, of []string
	for i := range v.Ports {
		at = append(at, v.Ports[i].Name)
	}
	for i := range v.Places {
		at = append(at, v.Places[i].place())
	}
	for i := range v.Flows {
		of = append(of, v.Flows[i].title())
	}
	room := func(beside int) int {
		if width == 0 {
			return 0
		}
		return max(1, width-beside)
	}
	return newColumn(at, leastPort, room(besidePort)), newColumn(of, leastFlow, room(besideFlow))
}

// place returns what a row calls its place.
func (p *Place) place() string { return cmp.Or(p.Port, "no hop wrote the tag") }

// title returns what a row calls its flow.
func (f *Flow) title() string { return cmp.Or(strings.Trim(f.Job+" "+f.Name, " "), "all flows") }

// heading returns the lines about the lab.
func (v *View) heading(lab string) []string {
	first := "csiglab top " + Printable(lab)
	if v.Info != nil {
		first += fmt.Sprintf("  cc %s, lb %s, aqm %s, csig %s", Printable(v.Info["cc"]), Printable(v.Info["lb"]), Printable(v.Info["aqm"]), Printable(v.Info["csig"]))
	}
	second := v.At.Format("15:04:05")
	if v.Span > 0 {
		second += fmt.Sprintf("  of the last %.1f s", v.Span.Seconds())
	} else {
		second += "  since the lab began"
	}
	if v.Dilation > 1 && v.Span > 0 {
		second += fmt.Sprintf(", %s of the model", number(v.Span.Seconds()/v.Dilation, "s"))
	}
	second += fmt.Sprintf("  late at most %s", number(v.Late, "s"))
	if v.LateShare > 0 {
		second += fmt.Sprintf(" (%s the smallest delay)", fraction(v.LateShare))
	}
	if v.Dropped > 0 {
		second += fmt.Sprintf("  %s records dropped", number(v.Dropped, ""))
	}
	lines := []string{first, second}
	if n := len(v.Silent); n > 0 {
		text := Printable(v.Silent[0].Error())
		switch n {
		case 1:
		case 2:
			text += ", and 1 other"
		default:
			text += fmt.Sprintf(", and %d others", n-1)
		}
		lines = append(lines, "NO ANSWER: "+text)
	}
	if v.LateShare > v.Budget {
		lines = append(lines, fmt.Sprintf("FIDELITY: the budget is %s the smallest delay; the run may be INVALID", fraction(v.Budget)))
	}
	return append(lines, v.bottleneck(), "")
}

// bottleneck says which port limits the flows, in a line.
func (v *View) bottleneck() string {
	p := v.Bottleneck()
	if p == nil {
		return "BOTTLENECK: none; no port is full or loses packets"
	}
	text := "BOTTLENECK: "
	if p.Busy < full {
		text += fmt.Sprintf("none is busy for %.0f %% of the time; ", 100*full)
	}
	text += fmt.Sprintf("%s, %s busy", Printable(p.Name), share(p.Busy))
	if p.Busy < full && p.Peak >= fullWindow {
		text += ", full in bursts"
	}
	if p.Lost > 0 {
		text += fmt.Sprintf(", %s packets lost", number(p.Lost, ""))
	}
	return text
}

// more returns the line below a part of the table: what it leaves out.
func more(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "… 1 more " + what
	}
	return fmt.Sprintf("… %d more %ss", n, what)
}

// cell returns a text that fills so many columns.
func cell(text string, width int) string {
	runes := []rune(Printable(text))
	if len(runes) > width {
		runes = append(runes[:width-1], '…')
	}
	return string(runes) + strings.Repeat(" ", width-len(runes))
}

// mostPrinted bounds the length of a text in runes.
const mostPrinted = 1000

// Printable returns a text without what would change a terminal: control characters, and
// those that change the direction of writing, are shown as U+FFFD.
func Printable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > mostPrinted {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) || unicode.Is(unicode.M, r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// share returns a share in per cent.
func share(v float64) string {
	if math.IsInf(v, 0) {
		return ">100%"
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

// fraction returns a share, or from 10 on how many times it is the whole.
func fraction(v float64) string {
	if v >= 10 {
		return number(math.Round(v), "") + " times"
	}
	return fmt.Sprintf("%.2g of", v)
}

// number returns a value with three digits and a prefix of its unit.
func number(v float64, unit string) string {
	switch {
	case math.IsInf(v, 1):
		return "more"
	case v == 0:
		return "0"
	case v < 0 || math.IsNaN(v):
		return "-"
	}
	prefixes := []string{"n", "µ", "m", "", "k", "M", "G", "T", "P"}
	at := 3
	for v >= 999.5 && at < len(prefixes)-1 {
		v, at = v/1000, at+1
	}
	for v < 0.9995 && at > 0 && unit == "s" {
		v, at = v*1000, at-1
	}
	text := fmt.Sprintf("%.3g", v)
	if unit == "" && at == 3 && v == math.Trunc(v) {
		text = fmt.Sprintf("%.0f", v)
	}
	if unit != "" {
		return text + " " + prefixes[at] + unit
	}
	return text + prefixes[at]
}
