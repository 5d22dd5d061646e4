package congestion

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// TestNSCCScripts plays testdata/*.txt. A script's answers come from a program
// of its own, so that they are not changed to follow this one.
func TestNSCCScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c *nsccState
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		if params, ok := strings.CutPrefix(line, "params"); ok {
			values := algorithm.Values{}
			for _, p := range strings.Fields(params) {
				name, text, _ := strings.Cut(p, "=")
				values[name] = text
			}
			c = newState(t, threeTier, values)
			continue
		}
		event, want, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("%s:%d: no answer in %q", file, n, line)
		}
		got, err := apply(c, strings.Fields(event))
		if err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		if got != want {
			t.Fatalf("%s:%d: %s gives %s, want %s", file, n, event, got, want)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// apply gives c the event of a line and returns its answer as the script writes
// it.
func apply(c *nsccState, words []string) (string, error) {
	at, err := units.ParseDuration(words[0])
	if err != nil {
		return "", err
	}
	now := units.Time(at)
	size, err := units.ParseSize(words[2])
	if err != nil {
		return "", err
	}
	a := Ack{Acked: size, Penalty: 255}
	for i := 3; i < len(words); i++ {
		word := words[i]
		if word == "marked" {
			a.ECN = true
			continue
		}
		if i++; i == len(words) {
			return "", fmt.Errorf("%s without a value", word)
		}
		switch word {
		case "inflight":
			a.Inflight, err = units.ParseSize(words[i])
		case "rtt":
			a.RTT, err = units.ParseDuration(words[i])
			a.HasRTT = true
		case "csig":
			var d units.Duration
			d, err = units.ParseDuration(words[i])
			point := uint64(d / units.Nanosecond)
			a.CSIG[csig.Delay] = Signal{Valid: true, Fresh: true, Sample: csig.Sample{Type: csig.Delay, Locator: 1, Low: point, Point: point}}
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
		if err != nil {
			return "", err
		}
	}
	switch words[1] {
	case "ack":
		c.OnAck(now, &a)
		delay := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", c.out.Delay.Microseconds()), "0"), ".")
		return fmt.Sprintf("%dB %v %sus", c.out.Window, nscc.Actions[c.out.Action].Name, delay), nil
	case "nack":
		c.OnNack(now, &Nack{Size: size, Inflight: a.Inflight, RTT: a.RTT, HasRTT: a.HasRTT})
	case "timeout":
		c.OnTimeout(now, &Timeout{Size: size, Inflight: a.Inflight})
	default:
		return "", fmt.Errorf("unknown event %q", words[1])
	}
	return fmt.Sprintf("%dB", c.out.Window), nil
}
