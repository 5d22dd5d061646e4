package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/own"
	"github.com/csiglab/csiglab/internal/checkout"
)

var update = flag.Bool("update", false, "write the vectors")

// generate returns the files of vectors by name.
func generate(t *testing.T) map[string]*conformance.File {
	g := &generator{t: t, files: map[string]*conformance.File{}}
	for _, write := range []func(){
		g.layout, g.dialect, g.tpids, g.positions, g.signals, g.quantisers, g.fresh, g.update, g.policies, g.trims, g.tunnels, g.reflection,
	} {
		write()
	}
	return g.files
}

// text returns the JSON of a file with a line for each device and each frame.
func text(t *testing.T, f *conformance.File) []byte {
	var b bytes.Buffer
	line := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	head := *f
	head.Devices, head.Vectors = nil, nil
	b.WriteString(strings.TrimSuffix(line(head), `"devices":null,"vectors":null}`) + "\n\"devices\": {\n")
	var names []string
	for name := range f.Devices {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		b.WriteString("  " + line(name) + ": " + line(f.Devices[name]))
		if i < len(names)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("},\n\"vectors\": [\n")
	for i := range f.Vectors {
		v := &f.Vectors[i]
		whole := *v
		whole.In, whole.Out = nil, nil
		head := line(whole)
		frames := func(list []conformance.Frame) string {
			var lines []string
			for _, x := range list {
				lines = append(lines, "   "+line(x))
			}
			if lines == nil {
				return "[]"
			}
			return "[\n" + strings.Join(lines, ",\n") + "]"
		}
		before, after, _ := strings.Cut(head, `"in":null,"out":null`)
		b.WriteString("  " + before + "\n  \"in\": " + frames(v.In) + ",\n  \"out\": " + frames(v.Out) + after)
		if i < len(f.Vectors)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// TestVectors compares the files with what the encoder of this package makes; -update writes them.
func TestVectors(t *testing.T) {
	files := generate(t)
	for name, f := range files {
		var capture bytes.Buffer
		if err := f.WriteCapture(&capture); err != nil {
			t.Fatal(err)
		}
		for suffix, data := range map[string][]byte{".json": text(t, f), ".pcapng": capture.Bytes()} {
			path := filepath.Join("vectors", name+suffix)
			if *update {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, data) {
				t.Errorf("%s is not what the tests make: go test ./conformance -update (%v)", path, err)
			}
		}
	}
	entries, err := os.ReadDir("vectors")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".json"), ".pcapng"); files[name] == nil && name != "README.md" {
			t.Errorf("vectors/%s: nothing makes it", e.Name())
		}
	}
}

// TestShipped: what the program writes is what the repository has.
func TestShipped(t *testing.T) {
	shipped, err := conformance.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("vectors")
	if err != nil || len(entries) != len(shipped) {
		t.Errorf("%d files, want %d: %v", len(shipped), len(entries), err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join("vectors", e.Name()))
		if err != nil || !bytes.Equal(data, shipped[e.Name()]) {
			t.Errorf("%s: %d bytes, want %d: %v", e.Name(), len(shipped[e.Name()]), len(data), err)
		}
	}
}

func vectors(t *testing.T) []conformance.Vector {
	t.Helper()
	all, err := conformance.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRules: each rule has a vector that can fail, names are there once, and what is csiglab's own
// choice has its place in the references.
func TestRules(t *testing.T) {
	if len(conformance.Rules) < 80 {
		t.Errorf("%d rules, want 80 at least", len(conformance.Rules))
	}
	references, err := os.ReadFile(filepath.Join(checkout.Repository(t), "docs/reference/references.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, seen := vectors(t), map[string]bool{}
	for _, v := range all {
		if seen[v.ID] {
			t.Errorf("two vectors are %s", v.ID)
		}
		seen[v.ID] = true
		r := conformance.Find(v.RuleID)
		if r == nil || v.Sentence != r.Sentence || v.Source != r.Source || v.Standing != r.Standing {
			t.Errorf("%s: rule %q, %q, %v, %s; want %+v", v.ID, v.RuleID, v.Sentence, v.Source, v.Standing, r)
		}
	}
	for _, r := range conformance.Rules {
		if seen[r.ID] {
			t.Errorf("two rules are %s", r.ID)
		}
		seen[r.ID] = true
		if !slices.ContainsFunc(all, func(v conformance.Vector) bool { return v.RuleID == r.ID }) {
			t.Errorf("%s has no vector", r.ID)
		}
		_, anchor, isOurs := strings.Cut(r.Source.Paragraph, "references.md#")
		switch {
		case isOurs != (r.Standing == conformance.Ours):
			t.Errorf("%s: standing %s, source %v", r.ID, r.Standing, r.Source)
		case isOurs && !bytes.Contains(references, []byte(`<a id="`+anchor+`">`)):
			t.Errorf("%s: the references have no anchor %s", r.ID, anchor)
		}
	}
}

// TestOwn runs all vectors through csiglab's machines.
func TestOwn(t *testing.T) {
	report, err := conformance.Run(context.Background(), "own", own.Device{}, vectors(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Passed {
			continue
		}
		t.Errorf("%s: %s %s", r.ID, r.Outcome, r.Reason)
		for _, d := range r.Wrong {
			t.Errorf("%s\n%s", d.Says(), d.Dump())
		}
	}
	t.Logf("%d rules, %d vectors", len(conformance.Rules), len(report.Results))
}

// TestReference compares the page of rules with the table; -update writes it.
func TestReference(t *testing.T) {
	const mark = "<!-- What follows is written by go test ./conformance -run TestReference -update -->\n"
	path := filepath.Join(checkout.Repository(t), "docs/reference/conformance.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, have, ok := strings.Cut(string(page), mark)
	if !ok {
		t.Fatalf("%s has no line %q", path, mark)
	}
	var b strings.Builder
	b.WriteString("\n| rule | from | sentence |\n|-|-|-|\n")
	for _, r := range conformance.Rules {
		from := r.Source.String()
		if _, anchor, ok := strings.Cut(r.Source.Paragraph, "docs/reference/"); ok {
			from = "[csiglab](" + anchor + ")"
		}
		b.WriteString("| " + r.ID + " | " + from + " | " + r.Sentence + " |\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+mark+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != b.String() {
		t.Errorf("docs/reference/conformance.md is not what the rules say: go test ./conformance -run TestReference -update")
	}
}

// TestState: a device that is told its state instead of measuring it writes the same codes. Where
// a tag leaves with another value than it came with, the state has this code by the quantiser of
// the device; trims write other values.
func TestState(t *testing.T) {
	checked := 0
	for _, v := range vectors(t) {
		i := slices.IndexFunc(v.In, func(f conformance.Frame) bool { return f.State != nil })
		o := slices.IndexFunc(v.Out, func(f conformance.Frame) bool { return len(f.Tags) > 0 })
		forced := strings.HasPrefix(v.RuleID, "CSIG-TRI-02") || v.RuleID == "CSIG-DIA-04"
		if i < 0 || o < 0 || len(v.In[i].Tags) != len(v.Out[o].Tags) || v.Setup.Ports[1].Init != nil || forced {
			continue
		}
		in, out, s := v.In[i].Tags[0], v.Out[o].Tags[0], v.In[i].State
		if in.Format != out.Format || in.Type != out.Type || in.Signal == out.Signal {
			continue
		}
		q := v.Setup.Formats[out.Format].Quantisers[allTypes[out.Type]]
		value := uint64([]int64{s.ABW, s.Share, s.Delay, s.Depth}[out.Type])
		if code := codeOf(q, value); code != out.Signal {
			t.Errorf("%s: state %d has code %d, the tag that leaves %d", v.ID, value, code, out.Signal)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("%d vectors have a value that is written, want 100 at least", checked)
	}
	t.Logf("%d vectors", checked)
}

// codeOf quantises by counting, as the documents put it.
func codeOf(q conformance.Quantiser, value uint64) int {
	if q.Edges == nil {
		code := 0
		for at := q.Base + q.Step; value >= at && code < ones; at += q.Step {
			code++
		}
		return code
	}
	last := 0
	for i, edge := range q.Edges {
		if value >= edge {
			last = i
		}
	}
	if q.Codes != nil {
		return q.Codes[last]
	}
	return last
}
