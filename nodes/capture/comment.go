package capture

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// comments returns what a record's frame does not show.
func (w *Writer) comments(r Record) []string {
	var lines []string
	p := &w.packet
	known := p.Parse(r.Frame, w.cfg.Format) == nil
	if q := r.Queue; q != nil && known {
		name := "control"
		if p.Queues() {
			name = "data"
		}
		lines = append(lines, fmt.Sprintf("%s queue: %d B at enqueue, %d B at dequeue, %v in the switch",
			name, int64(q.Ahead), int64(q.Behind), q.Waited))
	}
	if w.cfg.Domain != nil && known {
		if p.SecondTag() {
			lines = append(lines, "csig more than one tag, left alone")
		} else if tag := p.Tag(); tag != nil {
			lines = append(lines, "csig "+w.tag(tag))
		} else if tag := p.HiddenTag(); tag != nil {
			lines = append(lines, "csig in the tunnel "+w.tag(tag))
		}
		var echo [2 + wire.EchoLen]byte
		if n := w.echo(&echo); n > 0 {
			lines = append(lines, "csig echo "+w.tag(echo[:n]))
		}
	}
	if ps := r.At % units.Time(units.Nanosecond); ps != 0 {
		lines = append(lines, fmt.Sprintf("time + %d ps", int64(ps)))
	}
	return lines
}

// echo writes the tag that an ACK or NACK echoes, with a TPID, into b and returns
// its length, 0 without one.
func (w *Writer) echo(b *[2 + wire.EchoLen]byte) int {
	if kind := w.packet.Kind(); kind != wire.Ack && kind != wire.Nack {
		return 0
	}
	n := w.packet.Echo((*[wire.EchoLen]byte)(b[2:]))
	if n == 0 {
		return 0
	}
	binary.BigEndian.PutUint16(b[:], w.cfg.Domain.Of(b[:2+n]).TPID())
	return 2 + n
}

// tag says in words what a tag means.
func (w *Writer) tag(b []byte) string {
	domain := w.cfg.Domain.Of(b)
	fields, err := domain.ParseTag(b)
	if err != nil {
		return "of another domain"
	}
	if !fields.Type.Known() {
		return fmt.Sprintf("type %d: unknown", fields.Type)
	}
	text := fields.Type.String()
	switch s, ok := domain.Decode(b); {
	case fields.Locator == 0:
		return text + ": no port has written it yet"
	case !ok:
		text += fmt.Sprintf(" %d: no code of the quantiser", fields.Signal)
	case s.High == math.MaxUint64 || s.Saturated:
		text += fmt.Sprintf(" %s or more", quantity(s.Type, s.Low))
	default:
		text += fmt.Sprintf(" %s to %s", quantity(s.Type, s.Low), quantity(s.Type, s.High))
	}
	text += ", written by " + w.meaning(domain != w.cfg.Domain, fields.Locator)
	if fields.DoNotUpdate {
		text += "; trimmed on the way, do not update"
	}
	return text
}

func (w *Writer) meaning(second bool, locator uint16) string {
	label, of := uint32(locator), w.cfg.Meaning
	if second {
		label, of = label|csig.SecondLabels, w.cfg.SecondMeaning
	}
	if text, ok := w.words[label]; ok {
		return text
	}
	text := fmt.Sprintf("locator %d", locator)
	if of != nil {
		text = of(locator)
	}
	w.words[label] = text
	return text
}

// quantity is a raw value in units that people use.
func quantity(t csig.Type, raw uint64) string {
	switch unit := t.Definition().Unit; unit {
	case csig.BytesPerSecond:
		return fmt.Sprintf("%.4g Gbps", float64(raw)*8/float64(units.Gbps))
	case csig.PPM:
		return fmt.Sprintf("%.4g%%", float64(raw)/1e4)
	case csig.Count:
		return strconv.FormatUint(raw, 10)
	default:
		return fmt.Sprintf("%d %v", raw, unit)
	}
}
