package gateway

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

var example = lockstep.Exchange{
	Part: 1, Version: 300, Seen: []int64{7, 300, 0}, Bounds: []units.Time{0, units.Never, 1_234_567_890_123},
	Sent: []lockstep.Sent{{Link: 0, Frames: 2, First: 5}, {Link: 9, Frames: 1, First: units.Time(units.Second)}},
	Read: []int64{0, 1 << 40}, Earliest: 3, Last: 2,
}

var exampleShape = shape{part: 1, parts: 3, exits: 3, entries: 2}

// TestExchangeSurvives: what is read is what was written.
func TestExchangeSurvives(t *testing.T) {
	b := append(appendExchange(nil, &example), "frames"...)
	var got lockstep.Exchange
	rest, err := exampleShape.parseExchange(b, &got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, example); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if string(rest) != "frames" {
		t.Errorf("%q is left, want the frames", rest)
	}
	for n := range len(b) - len("frames") {
		if _, err := exampleShape.parseExchange(b[:n], &got); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(b)-len("frames"))
		}
	}
}

// FuzzMessage: no stream makes the reader crash, or keep more memory than the stream is
// long, and an exchange that is accepted is written as it was read.
func FuzzMessage(f *testing.F) {
	whole := appendExchange(beginMessage(nil, kindExchange), &example)
	whole = append(whole, 3, 'a', 'b', 'c')
	endMessage(whole)
	f.Add(whole)
	f.Add(append(whole[:len(whole):len(whole)], whole...))
	f.Add([]byte{0, 0, 0, 1, kindOver, 0, 0, 0, 1, kindAlive, 0, 0, 0, 3, kindGaveUp, 'n', 'o'})
	f.Add([]byte{0, 15, 255, 255, kindExchange, 1})
	f.Fuzz(func(t *testing.T, stream []byte) {
		p := &peer{from: bufio.NewReaderSize(bytes.NewReader(stream), 16), limit: headLimit}
		for {
			kind, err := p.read()
			if err != nil {
				break
			}
			if kind == kindGaveUp {
				Printable(p.message)
			}
			if kind != kindExchange {
				continue
			}
			rest, err := exampleShape.parseExchange(p.message, &p.exchange)
			if err != nil {
				continue
			}
			var again lockstep.Exchange
			if _, err := exampleShape.parseExchange(appendExchange(nil, &p.exchange), &again); err != nil {
				t.Fatalf("an exchange that was accepted is not: %v", err)
			}
			if diff := cmp.Diff(again, p.exchange, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-again +first):\n%s", diff)
			}
			for err == nil {
				_, rest, err = parseFrame(rest, 1000)
			}
		}
		if got, want := cap(p.message), 2*(len(stream)+streamBuffer); got > want {
			t.Fatalf("a stream of %d bytes takes %d bytes", len(stream), got)
		}
	})
}
