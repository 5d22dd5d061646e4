package htsim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/workloads"
)

// flow is a flow line whose trigger ids and start time are not resolved yet.
type flow struct {
	at                        lines.Pos
	id, start, msg            lines.Word // Text "": absent
	src, dst                  int
	size                      int64
	after, sendDone, recvDone ref
	priority                  int
}

// ref is the mention of a trigger; id 0: absent.
type ref struct {
	id int64
	at lines.Pos
}

// Words of a flow line.
var flowWords = []string{"id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg"}

// fields cuts the words after the first n into pairs of a key of keys and its
// value, and gives each to take. Keys in flags have no value.
func (m *matrix) fields(what string, words, rest []lines.Word, keys, flags []string, take func(key, value lines.Word) error) error {
	seen := make(map[string]bool, 8)
	for i := 0; i < len(rest); i++ {
		key := rest[i]
		switch {
		case !slices.Contains(keys, key.Text) && !slices.Contains(flags, key.Text):
			return m.Unknown("word", key, slices.Concat(keys, flags)...)
		case seen[key.Text]:
			return m.Errorf(key.Pos, "%s is given twice", key.Text)
		}
		seen[key.Text] = true
		var value lines.Word
		if slices.Contains(keys, key.Text) {
			if i++; i == len(rest) {
				return m.Errorf(words[len(words)-1].End(), "the %s ends after %s, want its value", what, key.Text)
			}
			value = rest[i]
		}
		if err := take(key, value); err != nil {
			return err
		}
	}
	return nil
}

// readFlow takes a line <src>-><dst> ….
func (m *matrix) readFlow(words []lines.Word) error {
	f := flow{at: words[0].Pos}
	var err error
	if f.src, f.dst, err = m.endpoints(words[0]); err != nil {
		return err
	}
	var size, trigger lines.Word
	rest, err := m.message(&f, words[1:])
	if err != nil {
		return err
	}
	if err := m.fields("flow", words, rest, flowWords, nil, func(key, value lines.Word) error {
		switch key.Text {
		case "id":
			f.id = value
		case "start":
			f.start = value
		case "size":
			size = value
		case "prio":
			v, err := m.Int("prio", value, 0, math.MaxInt32)
			if err != nil {
				return err
			}
			f.priority = int(v)
		default:
			v, err := m.Int(key.Text, value, 1, maxID)
			if err != nil {
				return err
			}
			switch key.Text {
			case "trigger":
				f.after, trigger = ref{v, value.Pos}, key
			case "send_done_trigger":
				f.sendDone = ref{v, value.Pos}
			case "recv_done_trigger":
				f.recvDone = ref{v, value.Pos}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case f.after.id != 0 && f.start.Text != "":
		return m.Errorf(trigger.Pos, "the flow has both start and trigger; keep one")
	case f.after.id == 0 && f.start.Text == "":
		return m.Errorf(words[len(words)-1].End(), "the flow has neither start nor trigger")
	case f.after.id != 0 && f.id.Text == "":
		return m.Errorf(trigger.Pos, "a flow that a trigger starts needs an id")
	case size.Text == "":
		return m.Errorf(words[len(words)-1].End(), "the flow has no size")
	}
	switch text := f.start.Text; {
	case strings.HasPrefix(text, "-"):
		return m.Errorf(f.start.Pos, "start %s is negative", text)
	case text != "" && !isDecimal(text):
		return m.Errorf(f.start.Pos, "start %q is not a number", text)
	}
	if f.size, err = m.flowSize(size); err != nil {
		return err
	}
	if f.msg.Text != "" {
		return m.addMessage(f)
	}
	if f.id.Text != "" {
		if err := m.flowID(f.id); err != nil {
			return err
		}
	}
	m.flows = append(m.flows, f)
	return nil
}

// isDecimal reports whether text is digits with at most one point.
func isDecimal(text string) bool {
	return text != "." && strings.Count(text, ".") <= 1 && strings.Trim(text, "0123456789.") == ""
}

func (m *matrix) flowSize(w lines.Word) (int64, error) {
	size, err := m.Int("size", w, math.MinInt64, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	if size <= 0 {
		return 0, m.Errorf(w.Pos, "size %s is not positive", w.Text)
	}
	if most := m.options.MaxSize; most != 0 && size > int64(most) {
		return 0, m.Errorf(w.Pos, "size %s is too large; the most that packets of this MTU can number is %d", w.Text, int64(most))
	}
	if size > maxBytes-m.bytes {
		return 0, m.Errorf(w.Pos, "size %s: the flows up to here carry more than %d bytes", w.Text, int64(maxBytes))
	}
	m.bytes += size
	return size, nil
}

func (m *matrix) flowID(w lines.Word) error {
	id, err := m.Int("flow id", w, 1, maxID)
	if err != nil {
		return err
	}
	if line, ok := m.flowLine[id]; ok {
		return m.Errorf(w.Pos, "flow id %d was used in line %d", id, line)
	}
	m.flowLine[id] = w.Line
	return nil
}

// endpoints reads <src>-><dst>.
func (m *matrix) endpoints(w lines.Word) (src, dst int, err error) {
	from, to, _ := strings.Cut(w.Text, arrow)
	host := func(what, text string, at lines.Pos) (int, error) {
		if text == "" {
			return 0, m.Errorf(at, "%s is missing; write <src>-><dst> without spaces", what)
		}
		v, err := m.Int(what, lines.Word{Pos: at, Text: text}, 0, int64(m.hosts-1))
		if err != nil {
			return 0, err
		}
		return int(v), nil
	}
	if src, err = host("source host", from, w.Pos); err != nil {
		return 0, 0, err
	}
	at := lines.Pos{Line: w.Line, Column: w.Column + len(from) + len(arrow)}
	if dst, err = host("destination host", to, at); err != nil {
		return 0, 0, err
	}
	if src == dst {
		return 0, 0, m.Errorf(at, "host %d sends to itself", src)
	}
	return src, dst, nil
}

// readTrigger takes a line trigger id n ….
func (m *matrix) readTrigger(words []lines.Word) error {
	t := trigger{at: words[0].Pos}
	var id, kind lines.Word
	var number int64
	var countWord lines.Word
	if err := m.fields("trigger", words, words[1:], []string{"id", "count"}, []string{"oneshot", "multishot", "barrier"}, func(key, value lines.Word) error {
		var err *Error
		switch key.Text {
		case "id":
			id = value
			number, err = m.Int("trigger id", value, 1, maxID)
		case "count":
			countWord = value
			var v int64
			v, err = m.Int("count", value, 1, math.MaxInt32)
			t.Count, t.countAt = int(v), value.Pos
		default:
			if kind.Text != "" {
				return m.Errorf(key.Pos, "the trigger is %s already", kind.Text)
			}
			kind = key
		}
		if err != nil {
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	end := words[len(words)-1].End()
	switch {
	case id.Text == "":
		return m.Errorf(end, "the trigger has no id")
	case kind.Text == "":
		return m.Errorf(end, "the trigger has no kind; use oneshot, multishot or barrier")
	case kind.Text == "barrier" && countWord.Text == "":
		return m.Errorf(end, "the barrier has no count")
	case kind.Text != "barrier" && countWord.Text != "":
		return m.Errorf(countWord.Pos, "a %s trigger has no count", kind.Text)
	}
	if earlier, ok := m.byID[number]; ok {
		return m.Errorf(id.Pos, "trigger %d was defined in line %d", number, m.triggers[earlier].at.Line)
	}
	switch kind.Text {
	case "multishot":
		t.Kind = workloads.MultiShot
	case "barrier":
		t.Kind = workloads.Barrier
	}
	t.Label = fmt.Sprint(number)
	m.byID[number] = len(m.triggers)
	m.triggers = append(m.triggers, t)
	return nil
}

// readFailure takes a line failure ….
func (m *matrix) readFailure(words []lines.Word) error {
	found := make(map[string]bool)
	var failed workloads.Failure
	keys := []string{"switch_type", "switch_id", "link_id"}
	if err := m.fields("failure", words, words[1:], keys, nil, func(key, value lines.Word) error {
		found[key.Text] = true
		if key.Text == "switch_type" {
			if types := []string{"TOR", "AGG", "CORE"}; !slices.Contains(types, value.Text) {
				return m.Unknown("switch type", value, types...)
			}
			failed.Tier = strings.ToLower(value.Text)
			return nil
		}
		v, err := m.Int(key.Text, value, 0, math.MaxInt32)
		if err != nil {
			return err
		}
		if key.Text == "switch_id" {
			failed.Switch = int(v)
		} else {
			failed.Link = int(v)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		if !found[key] {
			return m.Errorf(words[len(words)-1].End(), "the failure has no %s", key)
		}
	}
	if len(m.failed) == maxFailures {
		return m.Errorf(words[0].Pos, "more than %d failures", maxFailures)
	}
	if len(m.failed) == 0 {
		m.failure = words[0].Pos
	}
	m.failed = append(m.failed, failed)
	return nil
}

// checkTriggers makes sure that every trigger is hit, starts something and can
// fire, and that every flow can start. Notes name hits that htsim stops on.
func (m *matrix) checkTriggers(w *workloads.Workload) (notes []string, err error) {
	hits, waiting := make([]int, len(m.triggers)), make([]int, len(m.triggers))
	for _, t := range w.Transfers {
		for _, hit := range []int{t.SendDone, t.RecvDone} {
			if hit != workloads.None {
				hits[hit]++
			}
		}
		if t.After != workloads.None {
			waiting[t.After]++
		}
	}
	for i, t := range m.triggers {
		switch {
		case hits[i] == 0 && waiting[i] == 0:
			return nil, m.Errorf(t.at, "trigger %s is not used", t.Label)
		case hits[i] == 0:
			return nil, m.Errorf(t.at, "trigger %s never fires: no flow has it as send_done_trigger or recv_done_trigger", t.Label)
		case waiting[i] == 0:
			return nil, m.Errorf(t.at, "trigger %s starts no flow", t.Label)
		case t.Kind == workloads.Barrier && t.Count > hits[i]:
			return nil, m.Errorf(t.countAt, "barrier %s waits for %d hits, %d can come", t.Label, t.Count, hits[i])
		case t.Kind == workloads.MultiShot && waiting[i] > hits[i]:
			return nil, m.Errorf(t.at, "multishot trigger %s starts one flow per hit; %d flows wait for it, %d hits can come", t.Label, waiting[i], hits[i])
		case t.Kind == workloads.OneShot && hits[i] > 1:
			notes = append(notes, fmt.Sprintf("oneshot trigger %s is hit %d times; it fires at the first, htsim stops at the second", t.Label, hits[i]))
		case t.Kind == workloads.Barrier && t.Count < hits[i]:
			notes = append(notes, fmt.Sprintf("barrier %s is hit %d times; it fires at hit %d, htsim stops at the next", t.Label, hits[i], t.Count))
		}
	}
	if stuck := w.Stuck(); stuck != workloads.None {
		f := m.flows[stuck]
		return nil, m.Errorf(f.after.at, "the flow can never start: trigger %d waits for flows that wait for it", f.after.id)
	}
	return notes, nil
}
