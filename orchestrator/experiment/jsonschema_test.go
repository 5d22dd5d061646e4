package experiment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiledSchema returns the schema as a public validator reads it.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(JSONSchema(StandardTables()))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate returns what the schema says of an experiment file.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(converted)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(document)
}

// The schema accepts every embedded experiment, as its file and as a run folder has it.
func TestSchemaAcceptsTheLibrary(t *testing.T) {
	s := compiledSchema(t)
	for _, name := range Names() {
		text, err := library.ReadFile("library/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		set, err := Load(name, Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if text, err = set.Base.Marshal(); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s, resolved: %v", name, err)
		}
	}
}

// The schema refuses what an editor should mark, each in one place of an experiment that is
// right otherwise.
func TestSchemaRefuses(t *testing.T) {
	s := compiledSchema(t)
	const right = `schema: 1
name: x
topology: {ring: {switches: 3, rate: 1Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 1MB, {src: 0, dst: 2, size: 1MB}]}
hosts: {cc: {name: nscc, gamma: 0.5}}
links: {queue: auto}
seeds: 1..3
variants: {a: {}, b: {hosts.lb: reps, workload.transfers.0.size: 2MB}}
`
	if err := validate(t, s, []byte(right)); err != nil {
		t.Fatal(err)
	}
	const overrides = right + `sweep: {grid: {topology.ring: [{switches: 5}], workload.transfers.0: [1 -> 2 1MB]}, list: [{topology: {ring: {switches: 4}}}]}
`
	for _, c := range [][2]string{
		{"{a: {}, b:", "{a:, b:"}, {"reps, ", "reps, topology: {ring: {switches: 5}}, "}, {"reps, ", "reps, csig: {collector: {interval: 1ms}}, "},
		{"reps, ", "reps, workload.transfers.1: {src: 2, dst: 1, size: 1kB}, "}, {"rate: 1Gbps", "rate: 10gbps"}, {"1Gbps", "100  Gbps"},
	} {
		if err := validate(t, s, []byte(strings.Replace(overrides, c[0], c[1], 1))); err != nil {
			t.Errorf("%q in place of %q: %v", c[1], c[0], err)
		}
	}
	for _, c := range [][2]string{
		{"schema: 1", "schema: 2"}, {"name: x", "name: X Y"}, {"name: x\n", ""}, {"switches: 3", "switches: 2"}, {"switches: 3, ", ""}, {"1Gbps", "1"},
		{"ring:", "rng:"}, {"{ring:", "{k_ary: {k: 4, rate: 1Gbps, delay: 1us}, ring:"}, {"gamma", "gama"}, {"nscc", "nscd"}, {"auto", "aut"}, {"dst: 2, ", ""},
		{"1..3", "1 to 3"}, {"reps", "resp"}, {"0.size: 2MB", "0.size: 2"}, {"links:", "link:"}, {"hosts.lb", "hosts.bl"}, {"reps, ", "reps, runtime: netns, "}, {"reps, ", "reps, workload.transfers: [{src: 0, dst: 1}], "},
	} {
		if err := validate(t, s, []byte(strings.Replace(right, c[0], c[1], 1))); err == nil {
			t.Errorf("%q in place of %q is accepted", c[1], c[0])
		}
	}
}
