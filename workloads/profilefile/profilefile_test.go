package profilefile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

func TestReadReturnsWhatWriteWrote(t *testing.T) {
	jobs := []Job{
		{
			Profile: circle.Profile{Name: "first", Period: 254_987_654_321, Bursts: []circle.Burst{{At: 141 * units.Millisecond, Length: 113_987_654_321, Rate: 42_123_456_789}}},
			Source:  "measured from run <20>", Uncertainty: Uncertainty{Period: 12_500_000, Bursts: 1},
		},
		{Profile: circle.Profile{Name: "second", Period: units.Second, Bursts: []circle.Burst{{Length: 1}, {At: 5 * units.Second / 10, Length: units.Millisecond}}}},
	}
	var text strings.Builder
	if err := Write(&text, jobs); err != nil {
		t.Fatal(err)
	}
	got, err := Read("x.json", strings.NewReader(text.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if diff := cmp.Diff(jobs, got); diff != "" {
		t.Errorf("written, then read (-written +read):\n%s", diff)
	}
}

func TestWriteRefusesWhatReadRefuses(t *testing.T) {
	good := Job{Profile: circle.Profile{Name: "a", Period: 10, Bursts: []circle.Burst{{Length: 1}}}}
	for name, jobs := range map[string][]Job{
		"none":      nil,
		"no name":   {{Profile: circle.Profile{Period: 10, Bursts: []circle.Burst{{Length: 1}}}}},
		"twice":     {good, good},
		"period":    {{Profile: circle.Profile{Name: "a", Bursts: []circle.Burst{{Length: 1}}}}},
		"uncertain": {{Profile: good.Profile, Uncertainty: Uncertainty{Period: -1}}},
	} {
		var text strings.Builder
		if err := Write(&text, jobs); err == nil || text.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want an error and none", name, err, text.Len())
		}
	}
}

// jobText is a file with one job, in which a test replaces a piece.
const jobText = `{
  "schema": 1,
  "jobs": [
    {"name": "a", "periodUs": 100.5,
     "bursts": [{"atUs": 10, "lengthUs": 20, "rateGbps": 2.5}, {"atUs": 40, "lengthUs": 5}]}
  ]
}
`

func TestReadNamesThePlace(t *testing.T) {
	if _, err := Read("x.json", strings.NewReader(jobText)); err != nil {
		t.Fatalf("the file itself: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"schema": 1`, `"schema": 2`, "x.json:2:13: schema 2 of a profile file; this csiglab reads 1"},
		{`"schema": 1,`, ``, `x.json:1:1: a profile file lacks the key "schema"`},
		{`"periodUs": 100.5`, `"periodUs": 0`, `x.json:4:31: job "a": period: 0s, want more than 0`},
		{`"periodUs": 100.5`, `"periodUs": -4`, `x.json:4:31: periodUs is -4, want 0 or more`},
		{`"periodUs": 100.5`, `"periodUs": 1e3`, `x.json:4:31: periodUs 1e3: write it without exponent`},
		{`"periodUs": 100.5`, `"periodUs": 0.0000001`, `x.json:4:31: periodUs 0.0000001: the value is finer`},
		{`"periodUs": 100.5`, `"periodUs": "100"`, `x.json:4:31: a string; want periodUs, a number`},
		{`"periodUs"`, `"periodUS"`, `x.json:4:19: unknown key "periodUS" of a job (did you mean "periodUs"?)`},
		{`"lengthUs": 20`, `"lengthUs": 200`, `x.json:5:42: job "a": bursts[0].length: 200us is longer than the period`},
		{`"atUs": 40`, `"atUs": 29`, `x.json:5:73: job "a": bursts[1].at: 29us is in burst 0, which ends at 30us`},
		{`"atUs": 40, "lengthUs": 5`, `"atUs": 40`, `x.json:5:64: a burst lacks the key "lengthUs"`},
		{`"rateGbps": 2.5`, `"rateGbps": 0`, `x.json:5:58: rateGbps is 0, want more`},
		{`"name": "a"`, `"name": ""`, `x.json:4:14: the name of a job is empty`},
		{`"name": "a"`, `"name": "a\u001b[31m"`, `x.json:4:14: the name "a\x1b[31m" has characters that cannot be printed`},
		{`"name": "a"`, `"source": "\u202e", "name": "a"`, `x.json:4:16: the source "\u202e" has characters that cannot be printed`},
		{`"name": "a"`, `"name": "a", "name": "a"`, `x.json:4:19: the key "name" is there twice`},
		{"  ]\n}", "  ]\n} 1", `x.json:7:3: a number behind the end of the profiles`},
		{"  ]\n}", "  ", `x.json:7:1: the file ends in`},
	} {
		text := strings.Replace(jobText, c.old, c.new, 1)
		if text == jobText {
			t.Fatalf("%s is not in the text", c.old)
		}
		_, err := Read("x.json", strings.NewReader(text))
		var place *lines.Error
		if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s in place of %s:\ngot  %v\nwant %s…", c.new, c.old, err, c.want)
		}
	}
}

func TestReadRefusesNoJobAndOneTwice(t *testing.T) {
	job := `{"name": "a", "periodUs": 10, "bursts": [{"atUs": 0, "lengthUs": 1}]}`
	for text, want := range map[string]string{
		`{"schema": 1, "jobs": []}`:                         "no jobs, want 1 to 10000",
		`{"schema": 1, "jobs": [` + job + `, ` + job + `]}`: `the job "a" is there twice`,
	} {
		if _, err := Read("x.json", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(jobText)
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := Read("x.json", strings.NewReader(text))
		if err != nil {
			return
		}
		var again strings.Builder
		if err := Write(&again, jobs); err != nil {
			t.Fatalf("Read took what Write refuses: %v", err)
		}
		got, err := Read("again.json", strings.NewReader(again.String()))
		if diff := cmp.Diff(jobs, got); err != nil || diff != "" {
			t.Fatalf("written and read again: error %v\n%s", err, diff)
		}
	})
}
