package perfetto

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// row is where slices of one kind are shown: of a rank, of a host, or of none (-1).
type row struct {
	pid  int
	of   int
	kind int
}

// thread is one of the rows that a row becomes where its slices overlap.
type thread struct {
	row
	lane int
}

// lane is what a thread shows up to now. Slices of a thread are disjoint, but for a step,
// which holds its phases.
type lane struct{ from, to float64 }

// tid returns the thread's number, from 1.
func (t thread) tid() int64 {
	return (int64(t.of+1)*kinds+int64(t.kind))*laneStep + int64(t.lane) + 1
}

// jobPID returns the process of a job.
func jobPID(job int32) int { return pidFirstJob + int(max(0, job)) }

// arg is an argument of an event: its name and its JSON value; nil is left out.
type arg struct {
	name  string
	value []byte
}

// text returns an argument of text; none without.
func text(name, value string) arg {
	if value == "" {
		return arg{}
	}
	return arg{name, quote(nil, value)}
}

func number(name string, value int64) arg { return arg{name, strconv.AppendInt(nil, value, 10)} }
func real(name string, value float64) arg { return arg{name, appendReal(nil, value)} }

// appendReal appends a finite number; what is not one becomes 0.
func appendReal(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// clip shortens a name to maxText runes.
func clip(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxText {
			return name[:i] + "…"
		}
	}
	return name
}

// quote appends text as a JSON string of at most maxText runes. Invalid UTF-8 becomes
// replacement characters.
func quote(b []byte, s string) []byte {
	s = clip(s)
	plain := utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] != '<' && s[i] != '>' && s[i] != '&'
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

// event begins the next event.
func (t *trace) event(phase string) {
	if t.some {
		t.line = append(t.line[:0], ",\n"...)
	} else {
		t.line, t.some = append(t.line[:0], '\n'), true
	}
	t.line = append(t.line, `{"ph":"`...)
	t.line = append(t.line, phase...)
	t.line = append(t.line, '"')
}

func (t *trace) key(name string) {
	t.line = append(t.line, `,"`...)
	t.line = append(t.line, name...)
	t.line = append(t.line, `":`...)
}

func (t *trace) str(key, value string) {
	t.key(key)
	t.line = quote(t.line, value)
}

func (t *trace) num(key string, value int64) {
	t.key(key)
	t.line = strconv.AppendInt(t.line, value, 10)
}

func (t *trace) time(key string, us float64) {
	t.key(key)
	t.line = appendReal(t.line, us)
}

// end ends the event, with arguments. An error of the output comes back when it is flushed.
func (t *trace) end(args ...arg) {
	open := false
	for _, a := range args {
		if a.value == nil {
			continue
		}
		if !open {
			t.key("args")
			t.line = append(t.line, '{')
		} else {
			t.line = append(t.line, ',')
		}
		open = true
		t.line = quote(t.line, a.name)
		t.line = append(t.line, ':')
		t.line = append(t.line, a.value...)
	}
	if open {
		t.line = append(t.line, '}')
	}
	t.line = append(t.line, '}')
	t.out.Write(t.line)
}

// process names a process, once.
func (t *trace) process(pid int, name string) {
	if k := [2]int64{int64(pid), -1}; !t.named[k] {
		t.named[k] = true
		t.event("M")
		t.num("pid", int64(pid))
		t.str("name", "process_name")
		t.end(text("name", name))
		t.event("M")
		t.num("pid", int64(pid))
		t.str("name", "process_sort_index")
		t.end(number("sort_index", int64(pid)))
	}
}

// name names a thread and its process, once.
func (t *trace) name(at thread, name string) {
	switch at.pid {
	case pidFabric:
		t.process(at.pid, "fabric")
	case pidTraffic:
		t.process(at.pid, "transfers, by source")
	default:
		for _, j := range t.folder.Manifest.JobsOf(t.written.Variant) {
			if jobPID(j.Job) == at.pid {
				t.process(at.pid, "job "+clip(j.Name))
			}
		}
	}
	if k := [2]int64{int64(at.pid), at.tid()}; !t.named[k] {
		t.named[k] = true
		if at.lane > 0 {
			name += " " + strconv.Itoa(at.lane+1)
		}
		t.event("M")
		t.num("pid", int64(at.pid))
		t.num("tid", at.tid())
		t.str("name", "thread_name")
		t.end(text("name", name))
		t.event("M")
		t.num("pid", int64(at.pid))
		t.num("tid", at.tid())
		t.str("name", "thread_sort_index")
		t.end(number("sort_index", at.tid()))
	}
}

// slice is a slice of a row.
type slice struct {
	at                  row
	who, name, category string
	from, to            float64 // in us
}

// slice writes a slice into the first thread of its row that has room. It returns the
// thread's number, 0 if none has.
func (t *trace) slice(s slice, args ...arg) int64 {
	at, who, from, to := s.at, s.who, s.from, s.to
	if !(to >= from) {
		t.written.LeftOut++
		return 0
	}
	for i := range lanes {
		th := thread{at, i}
		l := t.threads[th]
		if l == nil {
			l = &lane{from: math.Inf(1), to: math.Inf(-1)}
			t.threads[th] = l
			t.name(th, who)
		}
		// Rows come in any order: a slice goes before all that the thread shows, behind it, or
		// around it.
		if !(from >= l.to || to <= l.from || from <= l.from && to >= l.to) {
			continue
		}
		l.from, l.to = min(l.from, from), max(l.to, to)
		t.event("X")
		t.num("pid", int64(at.pid))
		t.num("tid", th.tid())
		t.str("name", s.name)
		t.str("cat", s.category)
		t.time("ts", from)
		t.time("dur", math.Round((to-from)*1e6)/1e6)
		t.end(args...)
		t.written.Slices++
		return th.tid()
	}
	t.written.LeftOut++
	return 0
}

// arrow writes one end of an arrow: s where it begins, f where it ends.
func (t *trace) arrow(phase string, pid int, tid int64, us float64, id string) {
	if id == "" {
		return
	}
	t.event(phase)
	t.num("pid", int64(pid))
	t.num("tid", tid)
	t.str("name", "message")
	t.str("cat", "message")
	t.str("id", id)
	t.time("ts", us)
	if phase == "f" {
		t.str("bp", "e") // it ends at the slice around it
		t.written.Arrows++
	}
	t.end()
}

// counter writes a value of a counter of the fabric.
func (t *trace) counter(name string, us float64, value arg) {
	t.event("C")
	t.num("pid", pidFabric)
	t.str("name", name)
	t.time("ts", us)
	t.end(value)
}
