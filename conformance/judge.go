package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Outcome is what came out of a vector.
type Outcome string

// Outcomes. Errors are answers that cannot be judged.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip" // the device says that it cannot do this, or it cannot be seen
	Broken  Outcome = "error"
)

// Result is a vector's outcome.
type Result struct {
	*Vector
	Outcome Outcome
	Reason  string       // of a skip, an error, or a reading that fails
	Wrong   []Difference // of a failure
}

// Difference is a frame that is wrong. Want or Got is nil where there should be none, or is none.
type Difference struct {
	Port, Number int // the number counts the frames of the port from 1
	Want, Got    *Frame
	At           []int // offsets of octets that differ, also those that one of the two lacks
	// WantShown and GotShown are the frames as Wireshark shows them; "" unless Show was called.
	WantShown, GotShown string
}

// Report is what came out of vectors.
type Report struct {
	Device  string
	Results []Result
}

// Run runs vectors on a device, one after the other. When the device does not answer any more the
// vectors that are left are errors. It returns an error only if ctx ends.
func Run(ctx context.Context, name string, d Device, vectors []Vector) (*Report, error) {
	report := &Report{Device: name}
	var gone error
	for i := range vectors {
		r := Result{Vector: &vectors[i], Outcome: Passed}
		var out []Frame
		err := gone
		if gone == nil {
			out, err = d.Run(ctx, r.request())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case errors.Is(err, ErrCannot):
			r.Outcome, r.Reason = Skipped, err.Error()
		case err != nil:
			r.Outcome, r.Reason = Broken, err.Error()
			if errors.Is(err, ErrDevice) {
				gone = err
			}
		default:
			if r.Wrong = r.Judge(out); len(r.Wrong) > 0 {
				r.Outcome = Failed
			}
		}
		report.Results = append(report.Results, r)
	}
	return report, nil
}

func (v *Vector) request() *Request {
	in := slices.Clone(v.In)
	for i := range in {
		in[i].Tags = nil // what the author read is no part of the question
	}
	return &Request{Vector: v.ID, Device: v.Setup, Frames: in}
}

// Judge compares what a device sent with what must come out.
func (v *Vector) Judge(got []Frame) (wrong []Difference) {
	want := v.Out
	if v.OnePort && len(got) > 0 {
		// Whatever port it is: the first frame chooses it.
		want = slices.Clone(want)
		for i := range want {
			want[i].Port = got[0].Port
		}
	}
	var ports []int
	for _, f := range slices.Concat(want, got) {
		if !slices.Contains(ports, f.Port) {
			ports = append(ports, f.Port)
		}
	}
	slices.Sort(ports)
	for _, port := range ports {
		w, g := ofPort(want, port), ofPort(got, port)
		for i := range max(len(w), len(g)) {
			d := Difference{Port: port, Number: i + 1}
			if i < len(w) {
				d.Want = w[i]
			}
			if i < len(g) {
				d.Got = g[i]
			}
			if d.compare() {
				wrong = append(wrong, d)
			}
		}
	}
	return wrong
}

func ofPort(frames []Frame, port int) (list []*Frame) {
	for i := range frames {
		if frames[i].Port == port {
			list = append(list, &frames[i])
		}
	}
	return list
}

// compare finds the octets that differ and reports whether something does.
func (d *Difference) compare() bool {
	if d.Want == nil || d.Got == nil {
		return true
	}
	want, got := d.Want.Bytes, d.Got.Bytes
	for i := range max(len(want), len(got)) {
		if i < len(want) && i < len(got) && (want[i] == got[i] || d.Want.free(i)) {
			continue
		}
		d.At = append(d.At, i)
	}
	return len(d.At) > 0
}

// free reports whether no rule fixes an octet.
func (f *Frame) free(at int) bool {
	return slices.ContainsFunc(f.Free, func(r [2]int) bool { return at >= r[0] && at < r[0]+r[1] })
}

// Count returns how many vectors came out so.
func (r *Report) Count(o Outcome) (n int) {
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// Failed returns the rules of which a vector failed, in the order of Rules.
func (r *Report) Failed() (rules []string) {
	for i := range Rules {
		id := Rules[i].ID
		if slices.ContainsFunc(r.Results, func(x Result) bool { return x.RuleID == id && x.Outcome == Failed }) {
			rules = append(rules, id)
		}
	}
	return rules
}

// Details returns the first result of each rule that failed, and the names of the other vectors of
// the rule that failed.
func (r *Report) Details() (first []*Result, others map[string][]string) {
	others = map[string][]string{}
	seen := map[string]bool{}
	for i := range r.Results {
		switch x := &r.Results[i]; {
		case x.Outcome != Failed:
		case seen[x.RuleID]:
			others[x.RuleID] = append(others[x.RuleID], x.ID)
		default:
			seen[x.RuleID] = true
			first = append(first, x)
		}
	}
	return first, others
}

// A line of a dump has perLine octets, and a dump mostLines lines of a frame.
const perLine, mostLines = 16, 12

// Dump returns both frames in hexadecimal, with a mark below the octets that differ.
func (d *Difference) Dump() string {
	var want, got []byte
	if d.Want != nil {
		want = d.Want.Bytes
	}
	if d.Got != nil {
		got = d.Got.Bytes
	}
	var b strings.Builder
	for from := 0; from < max(len(want), len(got)); from += perLine {
		if from == mostLines*perLine {
			fmt.Fprintf(&b, "  %04x … %d octets more\n", from, max(len(want), len(got))-from)
			break
		}
		differs := slices.ContainsFunc(d.At, func(at int) bool { return at >= from && at < from+perLine })
		line := func(name string, bytes []byte) {
			if from >= len(bytes) {
				return
			}
			fmt.Fprintf(&b, "  %04x %-4s", from, name)
			for i, v := range bytes[from:min(from+perLine, len(bytes))] {
				if name == "want" && d.Want.free(from+i) {
					b.WriteString(" ..")
					continue
				}
				fmt.Fprintf(&b, " %02x", v)
			}
			b.WriteByte('\n')
		}
		switch {
		case d.Want == nil:
			line("got", got)
		case d.Got == nil, !differs:
			line("want", want)
		default:
			line("want", want)
			line("got", got)
			marks := make([]string, 0, perLine)
			for i := from; i < from+perLine; i++ {
				mark := "  "
				if slices.Contains(d.At, i) {
					mark = "^^"
				}
				marks = append(marks, mark)
			}
			b.WriteString(strings.TrimRight("            "+strings.Join(marks, " "), " ") + "\n")
		}
	}
	return b.String()
}

// Says is the difference in a sentence.
func (d *Difference) Says() string {
	where := fmt.Sprintf("port %d, frame %d", d.Port, d.Number)
	switch {
	case d.Got == nil:
		return where + ": it did not leave"
	case d.Want == nil:
		return where + ": it must not leave"
	case len(d.Want.Bytes) != len(d.Got.Bytes):
		return fmt.Sprintf("%s: %d octets, want %d", where, len(d.Got.Bytes), len(d.Want.Bytes))
	case len(d.At) == 1:
		return fmt.Sprintf("%s: octet %d differs", where, d.At[0])
	}
	return fmt.Sprintf("%s: %d octets differ, the first is number %d", where, len(d.At), d.At[0])
}
